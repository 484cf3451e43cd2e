# SPDX-License-Identifier: Apache-2.0
"""Workload A on Delta, with real Spark 4.2 + Delta 4.4.   make_delta_10m.py OUT JARS [variant ...]

10,000,000 rows, 5 columns, 8 files (744 MB); one MERGE (version 2) updates 100,000 rows scattered over every file and
inserts 10,000. Variants: plain, cdf, rt (row tracking, copy-on-write), rtdv (row tracking + deletion vectors), cdfdv.
JARS is a folder with delta-spark_4.2_2.13 and delta-storage. Prints Spark's own time to read that one commit.
Check values of version 2: 100,000 update pairs, 10,000 inserts; sum(amount) of post-images and inserts 50146783.9397, of pre-images 50036783.9397.
Of version 1: 10,000,000 rows, sum(amount) 5001281883.2872.
"""
import glob, shutil, sys, time
from pyspark.sql import SparkSession
OUT, JARS = sys.argv[1], sys.argv[2]
PROPS = {"plain": "'delta.enableDeletionVectors'='false'", "cdf": "'delta.enableChangeDataFeed'='true'", "rt": "'delta.enableRowTracking'='true'",
         "rtdv": "'delta.enableRowTracking'='true','delta.enableDeletionVectors'='true'", "cdfdv": "'delta.enableChangeDataFeed'='true','delta.enableDeletionVectors'='true'"}
N = 10_000_000
s = (SparkSession.builder.master("local[2]").config("spark.jars", ",".join(glob.glob(JARS + "/*.jar")))
     .config("spark.sql.extensions", "io.delta.sql.DeltaSparkSessionExtension")
     .config("spark.sql.catalog.spark_catalog", "org.apache.spark.sql.delta.catalog.DeltaCatalog")
     .config("spark.databricks.delta.changelogV2.enabled", "true").config("spark.sql.shuffle.partitions", "8")
     .config("spark.ui.enabled", "false").config("spark.ui.showConsoleProgress", "false").config("spark.driver.memory", "8g").getOrCreate())
s.sparkContext.setLogLevel("ERROR")
SRC = OUT + "/src"
for k in sys.argv[3:] or list(PROPS):
    path = f"{OUT}/{k}"; t = f"delta.`{path}`"; shutil.rmtree(path, ignore_errors=True)
    s.sql(f"create table {t}(id bigint, customer string, amount double, status string, updated_at timestamp) using delta tblproperties({PROPS[k]})")
    s.sql(f"insert into {t} select id, concat('cust-', sha2(cast(id as string),224)), rand(7)*1000, element_at(array('new','paid','shipped','done'), cast(id%4+1 as int)), timestamp_seconds(1700000000+id) from range(0,{N},1,8)")
    s.sql(f"select id, concat('upd-', cast(id as string)) customer, amount+1 amount, 'upd' status, updated_at from {t} where id % 100 = 37 union all select {N}+id, concat('new-',cast(id as string)), 1.0, 'new', timestamp_seconds(1800000000+id) from range(10000)").write.mode("overwrite").parquet(SRC)
    s.read.parquet(SRC).createOrReplaceTempView("src")
    s.sql(f"merge into {t} t using src s on t.id=s.id when matched then update set * when not matched then insert *")
    q = f"table_changes_by_path('{path}',2,2)" if "cdf" in k else f"{t} changes from version 2 to version 2" if "rt" in k else None
    if q:
        best = 1e9
        for _ in range(3):
            t0 = time.time(); r = s.sql(f"select _change_type, count(*), sum(amount), max(customer) from {q} group by 1").collect(); best = min(best, time.time() - t0)
        print(f"{k}: Spark reads version 2 in {best:.2f} s: {sorted((x[0], x[1], round(x[2], 4)) for x in r)}", flush=True)
