# SPDX-License-Identifier: Apache-2.0
"""Workload A on Iceberg, with real Spark 4.1 + Iceberg 1.12.   make_iceberg_10m.py OUT JARS [variant ...]

The same rows and the same MERGE as make_delta_10m.py (second snapshot). Variants: v2cow, v2mor, v3mor, v3cow.
JARS is a folder with iceberg-spark-runtime-4.1_2.13. Prints Spark's own time to read that snapshot through the changelog view, or its refusal.
"""
import glob, shutil, sys, time
from pyspark.sql import SparkSession
OUT, JARS = sys.argv[1], sys.argv[2]
V = {"v2cow": (2, "copy-on-write"), "v2mor": (2, "merge-on-read"), "v3mor": (3, "merge-on-read"), "v3cow": (3, "copy-on-write")}
N = 10_000_000
s = (SparkSession.builder.master("local[2]").config("spark.jars", ",".join(glob.glob(JARS + "/iceberg*.jar")))
     .config("spark.sql.extensions", "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions")
     .config("spark.sql.catalog.ice", "org.apache.iceberg.spark.SparkCatalog").config("spark.sql.catalog.ice.type", "hadoop").config("spark.sql.catalog.ice.warehouse", OUT)
     .config("spark.sql.shuffle.partitions", "8").config("spark.ui.enabled", "false").config("spark.ui.showConsoleProgress", "false").config("spark.driver.memory", "8g").getOrCreate())
s.sparkContext.setLogLevel("ERROR")
SRC = OUT + "/src"
for k in sys.argv[3:] or list(V):
    fv, mode = V[k]; t = f"ice.db.{k}"; s.sql(f"drop table if exists {t} purge"); shutil.rmtree(f"{OUT}/db/{k}", ignore_errors=True)
    s.sql(f"create table {t}(id bigint, customer string, amount double, status string, updated_at timestamp) using iceberg tblproperties('format-version'='{fv}','write.delete.mode'='{mode}','write.update.mode'='{mode}','write.merge.mode'='{mode}','write.distribution-mode'='none')")
    s.sql(f"insert into {t} select id, concat('cust-', sha2(cast(id as string),224)), rand(7)*1000, element_at(array('new','paid','shipped','done'), cast(id%4+1 as int)), timestamp_seconds(1700000000+id) from range(0,{N},1,8)")
    s.sql(f"select id, concat('upd-', cast(id as string)) customer, amount+1 amount, 'upd' status, updated_at from {t} where id % 100 = 37 union all select {N}+id, concat('new-',cast(id as string)), 1.0, 'new', timestamp_seconds(1800000000+id) from range(10000)").write.mode("overwrite").parquet(SRC)
    s.read.parquet(SRC).createOrReplaceTempView("src")
    s.sql(f"merge into {t} t using src s on t.id=s.id when matched then update set * when not matched then insert *")
    a, b = [r[0] for r in s.sql(f"select snapshot_id from {t}.snapshots order by committed_at").collect()]
    try:
        best = 1e9
        for _ in range(2):
            t0 = time.time()
            s.sql(f"call ice.system.create_changelog_view(table => '{t}', changelog_view => 'cv', options => map('start-snapshot-id','{a}','end-snapshot-id','{b}'), identifier_columns => array('id'))")
            r = s.sql("select _change_type, count(*), sum(amount), max(customer) from cv group by 1").collect(); best = min(best, time.time() - t0)
        print(f"{k}: Spark reads the second snapshot in {best:.2f} s: {sorted((x[0], x[1], round(x[2], 4)) for x in r)}", flush=True)
    except Exception as e:
        print(f"{k}: Spark refuses: {str(e)[:120]}", flush=True)
