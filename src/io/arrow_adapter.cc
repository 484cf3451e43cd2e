/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arrow_adapter.cc - Arrow and Parquet C++ behind io/parquet.h, io/arrow_ipc.h and lc_storage_arrow(): the only C++
 * file.
 *
 * The one idea: inside, everything fails by exception; guard() stands at every exported function and turns whatever
 * comes into a status and one message that names the file. No exception and no C++ type passes it.
 *
 * Sections
 *   failures       how C++ errors become lcdc_error
 *   memory         pools that are capped and outlive what was allocated from them
 *   files          lc_file as an Arrow file, a page stream that does not read what is skipped
 *   types          lc_field and Arrow types
 *   conversion     a leaf array as the table's type, exactly or refused
 *   resolution     which file column answers which table column, at every level
 *   pages          a row group's column chunks, each value of them counted
 *   flat columns   top-level primitives: decoded only where a row is wanted
 *   nested columns everything else, through parquet::arrow
 *   statistics     row groups and pages that cannot hold a wanted row
 *   scan           rows selected, read and handed out
 *   reader, writers, IPC, storage   the exported functions
 *
 * It must not know what a table is.
 */
#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <chrono>
#include <cinttypes>
#include <cmath>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <dlfcn.h>

#include <arrow/api.h>
#include <arrow/c/bridge.h>
#include <arrow/compute/api_vector.h>
#include <arrow/compute/cast.h>
#include <arrow/filesystem/api.h>
#include <arrow/io/api.h>
#include <arrow/ipc/api.h>
#include <arrow/util/bitmap_ops.h>
#include <arrow/util/key_value_metadata.h>
#include <arrow/util/utf8.h>
#include <libdeflate.h>
#include <parquet/arrow/reader.h>
#include <parquet/arrow/schema.h>
#include <parquet/arrow/writer.h>
#include <parquet/column_page.h>
#include <parquet/column_reader.h>
#include <parquet/exception.h>
#include <parquet/file_reader.h>
#include <parquet/metadata.h>
#include <parquet/page_index.h>
#include <parquet/statistics.h>
#include <snappy-c.h>
#include <zstd.h>

extern "C" {
#include "io/arrow_ipc.h"
#include "io/parquet.h"
#include "io/storage.h"
}

namespace ar = ::arrow;
namespace pq = ::parquet;

namespace
{

constexpr int64_t kDefaultBatchRows = 8192;
constexpr int64_t kDefaultMemory = INT64_C(128) << 20;
constexpr int64_t kMemoryPerLeaf = INT64_C(4) << 20; /* pages and a dictionary: less than that reads no column */
constexpr int64_t kFooterMemory = INT64_C(256) << 20;
constexpr int64_t kIpcMemory = INT64_C(1) << 30;
constexpr int64_t kLocalWindow = INT64_C(64) << 10; /* bytes a column reads at once */
constexpr int64_t kRemoteWindow = INT64_C(1) << 20;
constexpr int64_t kScattered = INT64_C(64) << 10; /* a wanted row to every so many bytes: then they are read in a row */
constexpr int32_t kMostCodes = 1 << 10; /* of a dictionary that is kept: it is looked at anew for each batch */
constexpr int64_t kLeastWindow = INT64_C(16) << 10; /* what Arrow looks at to find a page header */
constexpr int32_t kThriftStringLimit = 16 << 20;
constexpr int32_t kThriftContainerLimit = 500 * 1000;
constexpr int64_t kMicrosPerDay = INT64_C(86400000000);

/* ======== failures ======== */

/* A failure whose reason and words are known where it is found. */
struct Failure {
    enum lc_reason reason;
    std::string message;
};

/* A failure that a C function has put into the caller's error already. */
struct Reported {
    lcdc_status status;
};

/* An array would pass 2 GiB: fewer rows at a time may do. */
struct BatchTooLarge {
};

[[noreturn]] __attribute__((format(printf, 2, 3))) void fail(enum lc_reason reason, const char *format, ...)
{
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    throw Failure{reason, text};
}

void check(const ar::Status &status)
{
    if (!status.ok())
        throw pq::ParquetStatusException(status);
}

template <class T> T take(ar::Result<T> result)
{
    check(result.status());
    return std::move(result).ValueUnsafe();
}

void reported(lcdc_status status)
{
    if (status != LCDC_OK)
        throw Reported{status};
}

/* Moves an error that was made elsewhere to where the caller wants it. */
lcdc_status hand_over(lcdc_error **err, lcdc_error *taken, lcdc_status status)
{
    if (err) {
        lcdc_error_free(*err);
        *err = taken;
    } else {
        lcdc_error_free(taken);
    }
    return status;
}

class Pool;
class StorageFile;
bool has_exceeded(const Pool *pool);
bool take_error(StorageFile *file, lcdc_error **out, lcdc_status *status);

/* What guard() needs to turn a foreign exception into an error. */
struct Where {
    const char *path;
    enum lc_reason bad = LC_R_PARQUET_BAD;
    enum lc_reason unsupported = LC_R_PARQUET_UNSUPPORTED;
    StorageFile *file = nullptr;
    const Pool *decode = nullptr, *output = nullptr;
    int64_t limit = 0;
};

bool is_unsupported(const char *what)
{
    return strstr(what, "NotImplemented") || strstr(what, "Not yet implemented") || strstr(what, "not supported");
}

/* Something was thrown by Arrow or the C++ library: the storage's own error, a memory limit, or its text. */
lcdc_status foreign(lcdc_error **err, const Where &where, const char *what) noexcept
{
    lcdc_error *taken = nullptr;
    lcdc_status status = LCDC_OK;
    if (where.file && take_error(where.file, &taken, &status))
        return hand_over(err, taken, status);
    if (has_exceeded(where.decode) || has_exceeded(where.output))
        return lc_fail(err, LC_R_LIMIT, "%s: reading needs more memory than the limit of %" PRId64 " bytes", where.path,
                       where.limit);
    if (strstr(what, "Out of memory") || strstr(what, "OutOfMemory"))
        return lc_fail_oom(err);
    return lc_fail(err, is_unsupported(what) ? where.unsupported : where.bad, "%s: %.500s", where.path, what);
}

/* Runs `body` so that nothing leaves but a status. */
template <class Body> lcdc_status guard(lcdc_error **err, const Where &where, Body &&body) noexcept
{
    try {
        body();
        return LCDC_OK;
    } catch (const Reported &already) {
        return already.status;
    } catch (const Failure &failure) {
        return lc_fail(err, failure.reason, "%s: %s", where.path, failure.message.c_str());
    } catch (const BatchTooLarge &) {
        return lc_fail(err, LC_R_LIMIT, "%s: one row holds more than 2 GiB", where.path);
    } catch (const std::bad_alloc &) {
        return lc_fail_oom(err);
    } catch (const std::exception &exception) {
        return foreign(err, where, exception.what());
    } catch (...) {
        return lc_fail(err, LC_R_INTERNAL, "%s: an exception of unknown type", where.path);
    }
}

/* ======== memory ======== */

#ifdef __SANITIZE_ADDRESS__
#define LC_SANITIZES_ADDRESSES 1
#elif defined(__has_feature)
#define LC_SANITIZES_ADDRESSES __has_feature(address_sanitizer)
#else
#define LC_SANITIZES_ADDRESSES 0
#endif

ar::MemoryPool *base_pool()
{
#if LC_SANITIZES_ADDRESSES
    return ar::system_memory_pool(); /* the only one whose blocks the sanitizer sees */
#else
    /* jemalloc gives memory back soonest: half the resident size of the default. */
    static ar::MemoryPool *const pool = [] {
        ar::MemoryPool *found = nullptr;
        return ar::jemalloc_memory_pool(&found).ok() ? found : ar::default_memory_pool();
    }();
    return pool;
#endif
}

/*
 * Refuses to hold more than `cap` bytes. Arrays point at the pool they came from and may be released long after the
 * scan, on any thread: the pool goes with its owner or its last block, whichever is later.
 */
class Pool final : public ar::MemoryPool
{
  public:
    explicit Pool(int64_t cap) : cap_(cap)
    {
    }

    using ar::MemoryPool::Allocate;
    using ar::MemoryPool::Free;
    using ar::MemoryPool::Reallocate;

    ar::Status Allocate(int64_t size, int64_t alignment, uint8_t **out) override
    {
        if (!reserve(size))
            return ar::Status::OutOfMemory("memory limit");
        ar::Status status = base_pool()->Allocate(size, alignment, out);
        if (status.ok())
            references_.fetch_add(1, std::memory_order_relaxed);
        else
            held_.fetch_sub(size, std::memory_order_relaxed);
        return status;
    }

    ar::Status Reallocate(int64_t old_size, int64_t new_size, int64_t alignment, uint8_t **ptr) override
    {
        if (!reserve(new_size - old_size))
            return ar::Status::OutOfMemory("memory limit");
        ar::Status status = base_pool()->Reallocate(old_size, new_size, alignment, ptr);
        if (!status.ok())
            held_.fetch_sub(new_size - old_size, std::memory_order_relaxed);
        return status;
    }

    void Free(uint8_t *buffer, int64_t size, int64_t alignment) override
    {
        base_pool()->Free(buffer, size, alignment);
        held_.fetch_sub(size, std::memory_order_relaxed);
        leave();
    }

    int64_t bytes_allocated() const override
    {
        return held_.load(std::memory_order_relaxed);
    }
    int64_t total_bytes_allocated() const override
    {
        return bytes_allocated();
    }
    int64_t num_allocations() const override
    {
        return references_.load(std::memory_order_relaxed);
    }
    std::string backend_name() const override
    {
        return "capped";
    }

    /* What was handed out so far is the receiver's; the cap is for what comes. */
    void start_over()
    {
        held_.store(0, std::memory_order_relaxed);
        exceeded_ = false;
    }
    bool exceeded() const
    {
        return exceeded_;
    }
    void leave()
    {
        if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1)
            delete this;
    }

  private:
    ~Pool() override = default;

    bool reserve(int64_t size)
    {
        int64_t before = held_.fetch_add(size, std::memory_order_relaxed);
        if (size <= 0 || before <= cap_ - size)
            return true;
        held_.fetch_sub(size, std::memory_order_relaxed);
        exceeded_ = true;
        return false;
    }

    const int64_t cap_;
    std::atomic<int64_t> held_{0};
    std::atomic<int64_t> references_{1}; /* the owner, and each block */
    std::atomic<bool> exceeded_{false};
};

bool has_exceeded(const Pool *pool)
{
    return pool && pool->exceeded();
}

struct PoolLeave {
    void operator()(Pool *pool) const
    {
        pool->leave();
    }
};
using PoolOwner = std::unique_ptr<Pool, PoolLeave>;

/* ======== files ======== */

/* A file of any storage as Arrow reads it. Keeps the storage's own error, which Arrow would flatten to text. */
class StorageFile final : public ar::io::RandomAccessFile
{
  public:
    using ar::io::RandomAccessFile::ReadAt;

    StorageFile(struct lc_file *take_file, Pool *pool) : file_(take_file), size_(lc_file_size(take_file)), pool_(pool)
    {
        set_mode(ar::io::FileMode::READ);
    }
    ~StorageFile() override
    {
        lc_file_close(file_);
        lcdc_error_free(error_);
    }

    ar::Result<int64_t> GetSize() override
    {
        return size_;
    }
    ar::Result<int64_t> ReadAt(int64_t position, int64_t n, void *out) override
    {
        if (position < 0 || n < 0)
            return ar::Status::Invalid("a read at a negative position");
        n = std::min(n, std::max<int64_t>(size_ - position, 0));
        if (n == 0)
            return n;
        std::lock_guard<std::mutex> lock(mutex_);
        lcdc_status status = lc_file_read_at(file_, position, n, out, &error_);
        if (status == LCDC_OK)
            return n;
        status_ = status;
        return ar::Status::IOError("the storage failed");
    }
    ar::Result<std::shared_ptr<ar::Buffer>> ReadAt(int64_t position, int64_t n) override
    {
        n = std::min(n, std::max<int64_t>(size_ - position, 0)); /* no allocation follows a false length */
        ARROW_ASSIGN_OR_RAISE(auto buffer, ar::AllocateBuffer(std::max<int64_t>(n, 0), pool_));
        ARROW_RETURN_NOT_OK(ReadAt(position, n, buffer->mutable_data()));
        return std::shared_ptr<ar::Buffer>(std::move(buffer));
    }

    /* Nobody reads from where another stopped. */
    ar::Result<int64_t> Read(int64_t, void *) override
    {
        return ar::Status::NotImplemented("a file without a place of its own");
    }
    ar::Result<std::shared_ptr<ar::Buffer>> Read(int64_t) override
    {
        return ar::Status::NotImplemented("a file without a place of its own");
    }
    ar::Status Seek(int64_t) override
    {
        return ar::Status::NotImplemented("a file without a place of its own");
    }
    ar::Result<int64_t> Tell() const override
    {
        return 0;
    }
    ar::Status Close() override
    {
        return ar::Status::OK();
    }
    bool closed() const override
    {
        return false;
    }

    bool is_remote(const std::string &path) const
    {
        return lc_storage_is_remote(file_->storage, path.c_str());
    }
    void want(const std::string &path, const std::vector<struct lc_span> &spans) const
    {
        lc_storage_want(file_->storage, path.c_str(), size_, spans.size(), spans.data());
    }
    void note(enum lc_note note, int64_t n) const
    {
        lc_storage_note(file_->storage, note, n);
    }

    bool take_error(lcdc_error **out, lcdc_status *status)
    {
        std::lock_guard<std::mutex> lock(mutex_);
        *out = error_;
        *status = status_;
        error_ = nullptr;
        status_ = LCDC_OK;
        return *status != LCDC_OK;
    }

  private:
    struct lc_file *const file_;
    const int64_t size_;
    Pool *const pool_;
    std::mutex mutex_;
    lcdc_error *error_ = nullptr;
    lcdc_status status_ = LCDC_OK;
};

bool take_error(StorageFile *file, lcdc_error **out, lcdc_status *status)
{
    return file->take_error(out, status);
}

/* What a page header says that Arrow does not hand out. */
struct PageHeader {
    int64_t unpacked = -1; /* bytes; -1 unknown */
    bool has_checksum = false;
    uint32_t checksum = 0;
};

/*
 * The first fields of parquet.thrift's PageHeader, in the compact protocol of Thrift: four numbers, the second of them
 * the page's size, the fourth, which may be absent, its checksum.
 */
PageHeader page_header(std::string_view bytes)
{
    constexpr unsigned kI32 = 5, kUnpacked = 2, kChecksum = 4;
    PageHeader out;
    size_t at = 0;
    for (unsigned field = 0; field < kChecksum && at < bytes.size();) {
        unsigned begin = static_cast<uint8_t>(bytes[at++]), step = begin >> 4;
        field += step;
        if (step == 0 || (begin & 15) != kI32 || field > kChecksum)
            return out;
        uint32_t value = 0;
        for (unsigned shift = 0, more = 1; more; shift += 7) {
            if (at >= bytes.size() || shift > 28)
                return out;
            uint8_t byte = static_cast<uint8_t>(bytes[at++]);
            value |= static_cast<uint32_t>(byte & 127) << shift;
            more = byte & 128;
        }
        value = (value >> 1) ^ (~(value & 1) + 1); /* zigzag */
        if (field == kUnpacked)
            out.unpacked = static_cast<int32_t>(value);
        out.has_checksum = field == kChecksum;
        out.checksum = value;
    }
    return out;
}

/*
 * A column chunk's bytes, a window at a time. It holds each page against the checksum in its header, where there is
 * one: Arrow would too, at a third of the speed. Arrow's own buffered stream reads what it skips
 * (InputStream::Advance() is not virtual and reads), so whoever skips a page calls drop_next() before Arrow advances
 * over it.
 */
class PageStream final : public ar::io::InputStream
{
  public:
    PageStream(std::shared_ptr<ar::io::RandomAccessFile> file, int64_t offset, int64_t n, int64_t window, Pool *pool)
        : file_(std::move(file)), at_(offset), end_(offset + n), window_(window)
    {
        buffer_ = take(ar::AllocateResizableBuffer(0, pool));
        page_ = take(ar::AllocateResizableBuffer(0, pool));
        set_mode(ar::io::FileMode::READ);
    }

    void drop_next()
    {
        drops_next_ = true;
    }
    int64_t remaining() const
    {
        return last_ - first_ + end_ - at_;
    }
    /* Of the page that was read last. */
    const PageHeader &header() const
    {
        return header_;
    }

    ar::Result<std::string_view> Peek(int64_t n) override
    {
        n = std::min(n, remaining());
        if (last_ - first_ < n)
            ARROW_RETURN_NOT_OK(fill(n));
        std::string_view header(reinterpret_cast<const char *>(buffer_->data()) + first_, static_cast<size_t>(n));
        header_ = page_header(header);
        next_ = Part::kHeader;
        return header;
    }

    /* After a look at a header comes the header, then the page. */
    ar::Result<std::shared_ptr<ar::Buffer>> Read(int64_t n) override
    {
        n = std::min(n, remaining());
        Part part = next_;
        next_ = part == Part::kHeader ? Part::kPage : Part::kOther;
        if (drops_next_) {
            drops_next_ = false;
            skip(n);
            return std::make_shared<ar::Buffer>(nullptr, 0);
        }
        std::shared_ptr<ar::Buffer> bytes;
        if (n <= last_ - first_) {
            first_ += n;
            bytes = ar::SliceBuffer(buffer_, first_ - n, n);
        } else {
            ARROW_RETURN_NOT_OK(page_->Resize(n, false));
            ARROW_ASSIGN_OR_RAISE(int64_t got, Read(n, page_->mutable_data()));
            bytes = ar::SliceBuffer(page_, 0, got);
        }
        if (part == Part::kPage && header_.has_checksum &&
            libdeflate_crc32(0, bytes->data(), static_cast<size_t>(bytes->size())) != header_.checksum)
            throw pq::ParquetException("a page has another checksum than its header says");
        return bytes;
    }

    ar::Result<int64_t> Read(int64_t n, void *out) override
    {
        n = std::min(n, remaining());
        int64_t kept = std::min(n, last_ - first_);
        if (kept > 0)
            memcpy(out, buffer_->data() + first_, static_cast<size_t>(kept));
        first_ += kept;
        if (n > kept) {
            ARROW_ASSIGN_OR_RAISE(int64_t got, file_->ReadAt(at_, n - kept, static_cast<uint8_t *>(out) + kept));
            if (got != n - kept)
                return ar::Status::IOError("the file ends early");
            at_ += got;
        }
        return n;
    }

    ar::Result<int64_t> Tell() const override
    {
        return at_ - (last_ - first_);
    }
    ar::Status Close() override
    {
        return ar::Status::OK();
    }
    bool closed() const override
    {
        return false;
    }

  private:
    void skip(int64_t n)
    {
        int64_t kept = std::min(n, last_ - first_);
        first_ += kept;
        at_ += n - kept;
    }

    ar::Status fill(int64_t n)
    {
        int64_t kept = last_ - first_;
        if (kept > 0)
            memmove(buffer_->mutable_data(), buffer_->data() + first_, static_cast<size_t>(kept));
        first_ = 0;
        last_ = kept;
        int64_t size = std::min(std::max(n, window_), kept + end_ - at_);
        ARROW_RETURN_NOT_OK(buffer_->Resize(size, false));
        ARROW_ASSIGN_OR_RAISE(int64_t got, file_->ReadAt(at_, size - kept, buffer_->mutable_data() + kept));
        at_ += got;
        last_ += got;
        return got == size - kept ? ar::Status::OK() : ar::Status::IOError("the file ends early");
    }

    const std::shared_ptr<ar::io::RandomAccessFile> file_;
    int64_t at_; /* where in the file the buffer ends */
    const int64_t end_, window_;
    std::shared_ptr<ar::ResizableBuffer> buffer_, page_;
    int64_t first_ = 0, last_ = 0; /* the unread part of buffer_ */
    bool drops_next_ = false;
    enum class Part { kOther, kHeader, kPage } next_ = Part::kOther;
    PageHeader header_;
};

/* Bytes on their way to an lc_write_fn. */
class CallbackStream final : public ar::io::OutputStream
{
  public:
    CallbackStream(lc_write_fn write, void *context) : write_(write), context_(context)
    {
        set_mode(ar::io::FileMode::WRITE);
    }
    using ar::io::OutputStream::Write;
    ar::Status Write(const void *bytes, int64_t n) override
    {
        if (error_)
            return ar::Status::IOError("an earlier write failed");
        if (is_open_ && n > 0)
            error_ = write_(context_, bytes, static_cast<size_t>(n));
        if (error_)
            return ar::Status::IOError("the output refused the bytes");
        at_ += n;
        return ar::Status::OK();
    }
    ar::Result<int64_t> Tell() const override
    {
        return at_;
    }
    ar::Status Close() override
    {
        return ar::Status::OK();
    }
    bool closed() const override
    {
        return false;
    }
    int error() const
    {
        return error_;
    }
    /* An abandoned writer ends its file in its destructor; the caller is not to see that. */
    void detach()
    {
        is_open_ = false;
    }

  private:
    const lc_write_fn write_;
    void *const context_;
    int64_t at_ = 0;
    int error_ = 0;
    bool is_open_ = true;
};

/* ======== types ======== */

using Type = std::shared_ptr<ar::DataType>;
using Data = std::shared_ptr<ar::ArrayData>;

std::string type_text(const struct lc_field &field)
{
    struct lc_buf text;
    lc_buf_init(&text, 1 << 16);
    lc_type_print(&text, &field);
    std::string out(text.p ? text.p : "", text.n);
    lc_buf_done(&text);
    return out;
}

/* The Arrow type of a field, as base/arrow.h lays it out. */
Type arrow_type(const struct lc_field &field, lcdc_error **err)
{
    struct ArrowSchema schema = {};
    reported(lc_schema_from_field(&field, &schema, err));
    return take(ar::ImportType(&schema));
}

std::shared_ptr<ar::Field> normal_field(const std::shared_ptr<ar::Field> &field, bool keeps_nanos, int depth);

/* The layout of base/types.def that holds a type's values; refused when there is none. */
Type normal_type(const ar::DataType &type, const std::string &name, bool keeps_nanos, int depth)
{
    if (depth > LC_MAX_DEPTH)
        fail(LC_R_SCHEMA_BAD, "column %s is nested deeper than %d levels", name.c_str(), LC_MAX_DEPTH);
    auto child = [&](int i) { return normal_field(type.field(i), keeps_nanos, depth + 1); };
    auto inner = [&](const Type &of) { return normal_type(*of, name, keeps_nanos, depth + 1); };
    switch (type.id()) {
    case ar::Type::NA:
    case ar::Type::BOOL:
    case ar::Type::INT8:
    case ar::Type::INT16:
    case ar::Type::INT32:
    case ar::Type::INT64:
    case ar::Type::FLOAT:
    case ar::Type::DOUBLE:
    case ar::Type::DATE32:
    case ar::Type::DECIMAL128:
    case ar::Type::STRING:
    case ar::Type::BINARY:
    case ar::Type::FIXED_SIZE_BINARY:
        return type.GetSharedPtr();
    case ar::Type::UINT8:
        return ar::int16();
    case ar::Type::UINT16:
        return ar::int32();
    case ar::Type::UINT32:
        return ar::int64();
    case ar::Type::UINT64:
        return ar::decimal128(20, 0);
    case ar::Type::DATE64:
        return ar::date32();
    case ar::Type::TIME32:
    case ar::Type::TIME64:
        return ar::time64(ar::TimeUnit::MICRO);
    case ar::Type::TIMESTAMP: {
        const auto &timestamp = static_cast<const ar::TimestampType &>(type);
        bool is_nano = keeps_nanos && timestamp.unit() == ar::TimeUnit::NANO;
        return ar::timestamp(is_nano ? ar::TimeUnit::NANO : ar::TimeUnit::MICRO,
                             timestamp.timezone().empty() ? "" : "UTC");
    }
    case ar::Type::DECIMAL32:
    case ar::Type::DECIMAL64: {
        const auto &decimal = static_cast<const ar::DecimalType &>(type);
        return ar::decimal128(decimal.precision(), decimal.scale());
    }
    case ar::Type::LARGE_STRING:
    case ar::Type::STRING_VIEW:
        return ar::utf8();
    case ar::Type::LARGE_BINARY:
    case ar::Type::BINARY_VIEW:
        return ar::binary();
    case ar::Type::DICTIONARY:
        return inner(static_cast<const ar::DictionaryType &>(type).value_type());
    case ar::Type::EXTENSION:
        return inner(static_cast<const ar::ExtensionType &>(type).storage_type());
    case ar::Type::LIST:
    case ar::Type::LARGE_LIST:
    case ar::Type::FIXED_SIZE_LIST:
    case ar::Type::LIST_VIEW:
    case ar::Type::LARGE_LIST_VIEW:
        return ar::list(child(0));
    case ar::Type::MAP: {
        Type entries = inner(type.field(0)->type());
        return std::make_shared<ar::MapType>(entries->field(0)->WithNullable(false), entries->field(1));
    }
    case ar::Type::STRUCT: {
        ar::FieldVector fields;
        for (int i = 0; i < type.num_fields(); i++)
            fields.push_back(child(i));
        return ar::struct_(fields);
    }
    default:
        fail(LC_R_TYPE_UNSUPPORTED, "column %s is of type %s, which no table column has", name.c_str(),
             type.ToString().c_str());
    }
}

std::shared_ptr<ar::Field> normal_field(const std::shared_ptr<ar::Field> &field, bool keeps_nanos, int depth)
{
    return field->WithType(normal_type(*field->type(), field->name(), keeps_nanos, depth));
}

/* ======== conversion ======== */

enum class Op {
    kAsIs,    /* the same bytes under the table's type */
    kText,    /* the same, once they are known to be UTF-8 */
    kNulls,   /* a column of nothing */
    kInteger, /* another width; every value must fit */
    kTimes,   /* a finer unit */
    kFloor,   /* a coarser one, towards minus infinity as Spark reads INT96 and nanoseconds */
    kDivide,  /* a coarser one, exact */
    kDouble,  /* integer or float to double */
    kDecimal, /* integer or decimal to decimal */
    kFixedToBytes
};

struct Step {
    Op op = Op::kAsIs;
    int64_t factor = 1;
};

/* How wide an integer type is, and 1 more when it has no sign: what fits in what. 0: no integer. */
int integer_bits(const ar::DataType &type)
{
    switch (type.id()) {
    case ar::Type::INT8:
        return 8;
    case ar::Type::UINT8:
        return 9;
    case ar::Type::INT16:
        return 16;
    case ar::Type::UINT16:
        return 17;
    case ar::Type::INT32:
        return 32;
    case ar::Type::UINT32:
        return 33;
    case ar::Type::INT64:
        return 64;
    case ar::Type::UINT64:
        return 65;
    default:
        return 0;
    }
}

int64_t per_second(ar::TimeUnit::type unit)
{
    switch (unit) {
    case ar::TimeUnit::SECOND:
        return 1;
    case ar::TimeUnit::MILLI:
        return 1000;
    case ar::TimeUnit::MICRO:
        return 1000 * 1000;
    case ar::TimeUnit::NANO:
        return 1000 * 1000 * 1000;
    }
    return 1;
}

Step between_units(ar::TimeUnit::type from, ar::TimeUnit::type to, Op coarser)
{
    int64_t a = per_second(from), b = per_second(to);
    return a == b ? Step{} : a < b ? Step{Op::kTimes, b / a} : Step{coarser, a / b};
}

std::optional<Step> step_to_timestamp(const ar::DataType &from, ar::TimeUnit::type unit)
{
    if (from.id() == ar::Type::DATE32)
        return Step{Op::kTimes, kMicrosPerDay * (unit == ar::TimeUnit::NANO ? 1000 : 1)};
    if (from.id() == ar::Type::TIMESTAMP)
        return between_units(static_cast<const ar::TimestampType &>(from).unit(), unit, Op::kFloor);
    return std::nullopt;
}

/* Parquet has no narrow integers of its own: int8 and int16 may come as plain int32, and must fit value by value. */
std::optional<Step> step_to_integer(const ar::DataType &from, int bits)
{
    int have = integer_bits(from);
    if (have == bits)
        return Step{};
    if (have && (have < bits || (have == 32 && bits < 32)))
        return Step{Op::kInteger};
    return std::nullopt;
}

std::optional<Step> step_to_decimal(const ar::DataType &from, struct lc_type to)
{
    if (integer_bits(from))
        return Step{Op::kDecimal};
    if (from.id() != ar::Type::DECIMAL128)
        return std::nullopt;
    const auto &decimal = static_cast<const ar::Decimal128Type &>(from);
    bool fits = decimal.scale() <= to.scale && decimal.precision() - decimal.scale() <= to.precision - to.scale;
    return fits ? std::optional<Step>(Step{Op::kDecimal}) : std::nullopt;
}

std::optional<Step> step_to_time(const ar::DataType &from)
{
    if (from.id() == ar::Type::TIME32 || from.id() == ar::Type::TIME64)
        return between_units(static_cast<const ar::TimeType &>(from).unit(), ar::TimeUnit::MICRO, Op::kDivide);
    return std::nullopt;
}

std::optional<Step> step_to_fixed(const ar::DataType &from, int length)
{
    bool is_equal = from.id() == ar::Type::FIXED_SIZE_BINARY &&
                    static_cast<const ar::FixedSizeBinaryType &>(from).byte_width() == length;
    return is_equal ? std::optional<Step>(Step{}) : std::nullopt;
}

std::optional<Step> same_type(const ar::DataType &from, ar::Type::type to)
{
    return from.id() == to ? std::optional<Step>(Step{}) : std::nullopt;
}

/* How a leaf of one Arrow type becomes the table's; nothing when that could lose something. */
std::optional<Step> plan_leaf(const ar::DataType &from, struct lc_type to)
{
    bool is_bytes = from.id() == ar::Type::STRING || from.id() == ar::Type::BINARY;
    if (from.id() == ar::Type::NA)
        return Step{Op::kNulls};
    switch (to.kind) {
    case LC_TYPE_BOOL:
        return same_type(from, ar::Type::BOOL);
    case LC_TYPE_INT8:
        return step_to_integer(from, 8);
    case LC_TYPE_INT16:
        return step_to_integer(from, 16);
    case LC_TYPE_INT32:
        return step_to_integer(from, 32);
    case LC_TYPE_INT64:
        return step_to_integer(from, 64);
    case LC_TYPE_FLOAT:
        return same_type(from, ar::Type::FLOAT);
    case LC_TYPE_DOUBLE:
        if (from.id() == ar::Type::FLOAT || (integer_bits(from) && integer_bits(from) <= 33))
            return Step{Op::kDouble};
        return same_type(from, ar::Type::DOUBLE);
    case LC_TYPE_DECIMAL:
        return step_to_decimal(from, to);
    case LC_TYPE_DATE:
        return same_type(from, ar::Type::DATE32);
    case LC_TYPE_TIME:
        return step_to_time(from);
    case LC_TYPE_TIMESTAMP_TZ:
    case LC_TYPE_TIMESTAMP:
        return step_to_timestamp(from, ar::TimeUnit::MICRO);
    case LC_TYPE_TIMESTAMP_NS_TZ:
    case LC_TYPE_TIMESTAMP_NS:
        return step_to_timestamp(from, ar::TimeUnit::NANO);
    case LC_TYPE_STRING:
        return is_bytes ? std::optional<Step>(Step{Op::kText}) : std::nullopt;
    case LC_TYPE_BINARY:
        if (from.id() == ar::Type::FIXED_SIZE_BINARY)
            return Step{Op::kFixedToBytes};
        return is_bytes ? std::optional<Step>(Step{}) : std::nullopt;
    case LC_TYPE_FIXED:
        return step_to_fixed(from, to.length);
    case LC_TYPE_UUID:
        return step_to_fixed(from, 16);
    case LC_TYPE_NULL:
    case LC_TYPE_STRUCT:
    case LC_TYPE_LIST:
    case LC_TYPE_MAP:
    case LC_TYPE_COUNT:
        break;
    }
    return std::nullopt;
}

/* A leaf on its way: the words for a message, where memory comes from. */
struct Leaf {
    const struct lc_field *field;
    const Type &type;
    const std::string &where;
    Step step;
    ar::MemoryPool *pool;

    [[noreturn]] void does_not_fit() const
    {
        fail(LC_R_TYPE_MISMATCH, "column %s holds a value that does not fit %s", where.c_str(),
             type_text(*field).c_str());
    }
};

std::shared_ptr<ar::Buffer> allocate(int64_t n, ar::MemoryPool *pool)
{
    return take(ar::AllocateBuffer(n, pool));
}

std::shared_ptr<ar::Buffer> zeroed(int64_t n, ar::MemoryPool *pool)
{
    auto buffer = allocate(n, pool);
    if (n > 0)
        memset(buffer->mutable_data(), 0, static_cast<size_t>(n));
    return buffer;
}

/* The validity bits of `in`, from its offset on; NULL without nulls. */
std::shared_ptr<ar::Buffer> validity(const ar::ArrayData &in, ar::MemoryPool *pool)
{
    if (in.GetNullCount() == 0)
        return nullptr;
    return in.offset == 0 ? in.buffers[0]
                          : take(ar::internal::CopyBitmap(pool, in.buffers[0]->data(), in.offset, in.length));
}

Data retyped(const ar::ArrayData &in, const Type &type)
{
    auto out = std::make_shared<ar::ArrayData>(in);
    out->type = type;
    return out;
}

/* Calls `f(i, value)` for every row that is not null. */
template <class T, class F> void each_value(const ar::ArrayData &in, F &&f)
{
    const T *values = in.GetValues<T>(1);
    const uint8_t *valid = in.GetNullCount() ? in.buffers[0]->data() : nullptr;
    for (int64_t i = 0; i < in.length; i++)
        if (!valid || lc_bit(valid, in.offset + i))
            f(i, values[i]);
}

template <class F> void each_integer(const ar::ArrayData &in, F &&f)
{
    switch (in.type->id()) {
    case ar::Type::INT8:
        return each_value<int8_t>(in, f);
    case ar::Type::UINT8:
        return each_value<uint8_t>(in, f);
    case ar::Type::INT16:
        return each_value<int16_t>(in, f);
    case ar::Type::UINT16:
        return each_value<uint16_t>(in, f);
    case ar::Type::UINT32:
        return each_value<uint32_t>(in, f);
    case ar::Type::UINT64:
        return each_value<uint64_t>(in, f);
    case ar::Type::INT32:
    case ar::Type::DATE32:
    case ar::Type::TIME32:
        return each_value<int32_t>(in, f);
    default:
        return each_value<int64_t>(in, f);
    }
}

/* A new array of fixed-width values, null where `in` is; `fill` writes the others. */
template <class T, class Fill> Data computed(const ar::ArrayData &in, const Leaf &leaf, Fill &&fill)
{
    auto values = zeroed(in.length * static_cast<int64_t>(sizeof(T)), leaf.pool);
    fill(values->template mutable_data_as<T>());
    return ar::ArrayData::Make(leaf.type, in.length, {validity(in, leaf.pool), values}, in.GetNullCount());
}

template <class T> Data integer_width(const ar::ArrayData &in, const Leaf &leaf)
{
    return computed<T>(in, leaf, [&](T *out) {
        each_integer(in, [&](int64_t i, auto value) {
            if (!std::in_range<T>(value))
                leaf.does_not_fit();
            out[i] = static_cast<T>(value);
        });
    });
}

Data to_integer(const ar::ArrayData &in, const Leaf &leaf)
{
    switch (leaf.type->id()) {
    case ar::Type::INT8:
        return integer_width<int8_t>(in, leaf);
    case ar::Type::INT16:
        return integer_width<int16_t>(in, leaf);
    case ar::Type::INT32:
        return integer_width<int32_t>(in, leaf);
    default:
        return integer_width<int64_t>(in, leaf);
    }
}

/* One number under a step that keeps it an integer; false when it does not fit. */
bool apply_step(Step step, int64_t value, int64_t *out)
{
    switch (step.op) {
    case Op::kTimes:
        return !__builtin_mul_overflow(value, step.factor, out);
    case Op::kFloor:
        *out = value / step.factor - (value % step.factor < 0);
        return true;
    case Op::kDivide:
        *out = value / step.factor;
        return value % step.factor == 0;
    default:
        *out = value;
        return true;
    }
}

Data to_unit(const ar::ArrayData &in, const Leaf &leaf)
{
    return computed<int64_t>(in, leaf, [&](int64_t *out) {
        each_integer(in, [&](int64_t i, auto value) {
            if (!apply_step(leaf.step, static_cast<int64_t>(value), &out[i]))
                leaf.does_not_fit();
        });
    });
}

Data to_double(const ar::ArrayData &in, const Leaf &leaf)
{
    return computed<double>(in, leaf, [&](double *out) {
        if (in.type->id() == ar::Type::FLOAT)
            each_value<float>(in, [&](int64_t i, float value) { out[i] = static_cast<double>(value); });
        else
            each_integer(in, [&](int64_t i, auto value) { out[i] = static_cast<double>(value); });
    });
}

bool fits_digits(lc_i128 value, int precision)
{
    lc_i128 limit = lc_pow10(precision);
    return value > -limit && value < limit;
}

void store_decimal(uint8_t *out, lc_i128 value)
{
    memcpy(out, &value, 16);
}

lc_i128 load_decimal(const uint8_t *in)
{
    lc_i128 value;
    memcpy(&value, in, 16);
    return value;
}

Data to_decimal(const ar::ArrayData &in, const Leaf &leaf)
{
    bool is_decimal = in.type->id() == ar::Type::DECIMAL128;
    int scale = is_decimal ? static_cast<const ar::Decimal128Type &>(*in.type).scale() : 0;
    lc_i128 factor = lc_pow10(leaf.field->type.scale - scale);
    auto values = zeroed(in.length * 16, leaf.pool);
    uint8_t *out = values->mutable_data();
    auto put = [&](int64_t i, lc_i128 value) {
        if (__builtin_mul_overflow(value, factor, &value) || !fits_digits(value, leaf.field->type.precision))
            leaf.does_not_fit();
        store_decimal(out + 16 * i, value);
    };
    if (is_decimal)
        each_value<std::array<uint8_t, 16>>(
            in, [&](int64_t i, const std::array<uint8_t, 16> &bytes) { put(i, load_decimal(bytes.data())); });
    else
        each_integer(in, [&](int64_t i, auto value) { put(i, static_cast<lc_i128>(value)); });
    return ar::ArrayData::Make(leaf.type, in.length, {validity(in, leaf.pool), values}, in.GetNullCount());
}

bool starts_character(uint8_t byte)
{
    return (byte & 0xC0) != 0x80;
}

/* Texts are valid when their bytes are, end to end, and none begins inside a character. */
Data to_text(const ar::ArrayData &in, const Leaf &leaf)
{
    const int32_t *offsets = in.GetValues<int32_t>(1);
    const uint8_t *bytes = in.buffers[2] ? in.buffers[2]->data() : nullptr;
    bool is_valid = true;
    if (in.length > 0 && offsets[in.length] > offsets[0]) {
        is_valid = ar::util::ValidateUTF8(bytes + offsets[0], offsets[in.length] - offsets[0]);
        for (int64_t i = 0; is_valid && i < in.length; i++)
            is_valid = offsets[i] == offsets[in.length] || starts_character(bytes[offsets[i]]);
    }
    if (!is_valid)
        fail(LC_R_PARQUET_BAD, "column %s holds text that is not valid UTF-8", leaf.where.c_str());
    return retyped(in, leaf.type);
}

Data fixed_to_bytes(const ar::ArrayData &in, const Leaf &leaf)
{
    int64_t width = static_cast<const ar::FixedSizeBinaryType &>(*in.type).byte_width();
    if (width * in.length > std::numeric_limits<int32_t>::max())
        fail(LC_R_LIMIT, "column %s holds more than 2 GiB in one batch", leaf.where.c_str());
    auto offsets = allocate((in.length + 1) * 4, leaf.pool);
    for (int64_t i = 0; i <= in.length; i++)
        offsets->mutable_data_as<int32_t>()[i] = static_cast<int32_t>(i * width);
    auto bytes = ar::SliceBuffer(in.buffers[1], in.offset * width, in.length * width);
    return ar::ArrayData::Make(leaf.type, in.length, {validity(in, leaf.pool), offsets, bytes}, in.GetNullCount());
}

Data convert_leaf(const ar::ArrayData &in, const Leaf &leaf)
{
    switch (leaf.step.op) {
    case Op::kAsIs:
        return retyped(in, leaf.type);
    case Op::kText:
        return to_text(in, leaf);
    case Op::kNulls:
        return take(ar::MakeArrayOfNull(leaf.type, in.length, leaf.pool))->data();
    case Op::kInteger:
        return to_integer(in, leaf);
    case Op::kTimes:
    case Op::kFloor:
    case Op::kDivide:
        return to_unit(in, leaf);
    case Op::kDouble:
        return to_double(in, leaf);
    case Op::kDecimal:
        return to_decimal(in, leaf);
    case Op::kFixedToBytes:
        return fixed_to_bytes(in, leaf);
    }
    fail(LC_R_INTERNAL, "column %s: an unknown conversion", leaf.where.c_str());
}

/* ---- constants ---- */

std::string text_of(struct lc_str text)
{
    return std::string(text.p ? text.p : "", text.n);
}

std::shared_ptr<ar::Scalar> scalar_of(const struct lc_value &value, const Type &type)
{
    switch (value.type.kind) {
    case LC_TYPE_BOOL:
        return std::make_shared<ar::BooleanScalar>(value.b);
    case LC_TYPE_INT8:
        return std::make_shared<ar::Int8Scalar>(static_cast<int8_t>(value.i));
    case LC_TYPE_INT16:
        return std::make_shared<ar::Int16Scalar>(static_cast<int16_t>(value.i));
    case LC_TYPE_INT32:
        return std::make_shared<ar::Int32Scalar>(static_cast<int32_t>(value.i));
    case LC_TYPE_INT64:
        return std::make_shared<ar::Int64Scalar>(value.i);
    case LC_TYPE_FLOAT:
        return std::make_shared<ar::FloatScalar>(static_cast<float>(value.f));
    case LC_TYPE_DOUBLE:
        return std::make_shared<ar::DoubleScalar>(value.f);
    case LC_TYPE_DECIMAL:
        return std::make_shared<ar::Decimal128Scalar>(
            ar::Decimal128(static_cast<int64_t>(value.dec >> 64), static_cast<uint64_t>(value.dec)), type);
    case LC_TYPE_DATE:
        return std::make_shared<ar::Date32Scalar>(static_cast<int32_t>(value.i));
    case LC_TYPE_TIME:
        return std::make_shared<ar::Time64Scalar>(value.i, type);
    case LC_TYPE_TIMESTAMP_TZ:
    case LC_TYPE_TIMESTAMP:
    case LC_TYPE_TIMESTAMP_NS_TZ:
    case LC_TYPE_TIMESTAMP_NS:
        return std::make_shared<ar::TimestampScalar>(value.i, type);
    case LC_TYPE_STRING:
        return std::make_shared<ar::StringScalar>(text_of(value.str));
    case LC_TYPE_BINARY:
        return std::make_shared<ar::BinaryScalar>(text_of(value.str));
    case LC_TYPE_FIXED:
    case LC_TYPE_UUID:
        return std::make_shared<ar::FixedSizeBinaryScalar>(ar::Buffer::FromString(text_of(value.str)), type);
    case LC_TYPE_NULL:
    case LC_TYPE_STRUCT:
    case LC_TYPE_LIST:
    case LC_TYPE_MAP:
    case LC_TYPE_COUNT:
        break;
    }
    fail(LC_R_INTERNAL, "a constant of type %s", lc_type_word(value.type.kind));
}

Data constant_array(const struct lc_field &field, const struct lc_value *value, const Type &type, int64_t n,
                    ar::MemoryPool *pool)
{
    if (!value || value->is_null)
        return take(ar::MakeArrayOfNull(type, n, pool))->data();
    bool is_same = value->type.kind == field.type.kind &&
                   (field.type.kind != LC_TYPE_DECIMAL || value->type.scale == field.type.scale) &&
                   (field.type.kind != LC_TYPE_FIXED || value->str.n == static_cast<size_t>(field.type.length)) &&
                   (field.type.kind != LC_TYPE_UUID || value->str.n == 16);
    if (!is_same)
        fail(LC_R_INTERNAL, "a constant of type %s for a column of type %s", lc_type_word(value->type.kind),
             type_text(field).c_str());
    return take(ar::MakeArrayFromScalar(*scalar_of(*value, type), n, pool))->data();
}

/* ======== resolution ======== */

/* A column of the file (or of an array): its Arrow field, and its place in the Parquet schema when it has one. */
struct Source {
    std::shared_ptr<ar::Field> field;
    const pq::arrow::SchemaField *column = nullptr;

    int n_children() const
    {
        return field->type()->num_fields();
    }
    Source child(int i) const
    {
        return Source{field->type()->field(i), column ? &column->children[static_cast<size_t>(i)] : nullptr};
    }
};

int32_t field_id(const ar::Field &field)
{
    if (!field.metadata())
        return LC_NO_ID;
    int at = field.metadata()->FindKey("PARQUET:field_id");
    int64_t id = LC_NO_ID;
    if (at < 0 || !lc_parse_i64(lc_str_of(field.metadata()->value(at).c_str()), &id) || id < 0 || id > INT32_MAX)
        return LC_NO_ID;
    return static_cast<int32_t>(id);
}

/* Siblings by name and by id; a name or id that two of them have answers nobody. */
class Siblings
{
  public:
    static constexpr int kNone = -1, kSeveral = -2;

    void add(const ar::Field &field, int at)
    {
        put(names_, field.name(), at);
        if (field_id(field) != LC_NO_ID)
            put(ids_, field_id(field), at);
    }
    int by_name(const char *name) const
    {
        return get(names_, std::string(name ? name : ""));
    }
    int by_id(int32_t id) const
    {
        return id == LC_NO_ID ? kNone : get(ids_, id);
    }
    int find(const struct lc_field &field, enum lc_match match, bool has_ids) const
    {
        /* hidden columns (change types, materialised row ids) have no id in any table */
        if (match == LC_MATCH_PHYSICAL_NAME || (match == LC_MATCH_ID && field.id == LC_NO_ID))
            return by_name(field.physical ? field.physical : field.name);
        if (match == LC_MATCH_ID || has_ids)
            return by_id(field.id);
        int found = kNone;
        for (size_t i = 0; i < field.n_aliases; i++) {
            int at = by_name(field.aliases[i]);
            if (at != kNone && found != kNone && at != found)
                return kSeveral;
            found = at != kNone ? at : found;
        }
        return found;
    }

  private:
    template <class Map, class Key> static void put(Map &map, const Key &key, int at)
    {
        auto [place, is_new] = map.emplace(key, at);
        if (!is_new)
            place->second = kSeveral;
    }
    template <class Map, class Key> static int get(const Map &map, const Key &key)
    {
        auto found = map.find(key);
        return found == map.end() ? kNone : found->second;
    }

    std::unordered_map<std::string, int> names_;
    std::unordered_map<int32_t, int> ids_;
};

bool has_field_ids(const pq::arrow::SchemaField &column)
{
    if (field_id(*column.field) != LC_NO_ID)
        return true;
    return std::any_of(column.children.begin(), column.children.end(), has_field_ids);
}

/*
 * Spark before 3.0 (3.1 for INT96), and later ones that were told to, counted days in the hybrid calendar: what they
 * wrote of old times means other days than the number says.
 */
struct Calendar {
    bool is_hybrid = false, is_hybrid_int96 = false;

    static Calendar of(const ar::KeyValueMetadata *pairs)
    {
        Calendar out;
        int at = pairs ? pairs->FindKey("org.apache.spark.version") : -1;
        if (at < 0)
            return out;
        int major = 0, minor = 0;
        const std::string &version = pairs->value(at);
        std::from_chars_result read = std::from_chars(version.data(), version.data() + version.size(), major);
        if (read.ptr < version.data() + version.size())
            std::from_chars(read.ptr + 1, version.data() + version.size(), minor);
        out.is_hybrid = major < 3 || pairs->Contains("org.apache.spark.legacyDateTime");
        out.is_hybrid_int96 = major < 3 || (major == 3 && minor < 1) || pairs->Contains("org.apache.spark.legacyINT96");
        return out;
    }

    /* The first value of a type from which on both calendars agree, in every zone: Spark's own limits. */
    int64_t first_agreed(const ar::DataType &type, bool is_int96) const
    {
        if (is_hybrid && type.id() == ar::Type::DATE32)
            return -141427; /* 1582-10-15 */
        if (type.id() == ar::Type::TIMESTAMP && (is_int96 ? is_hybrid_int96 : is_hybrid))
            return INT64_C(-2208988800) * per_second(static_cast<const ar::TimestampType &>(type).unit()); /* 1900 */
        return std::numeric_limits<int64_t>::min();
    }
};

/* A table column and where its values come from. */
struct Node {
    enum class Kind { kConstant, kLeaf, kStruct, kList, kMap };

    const struct lc_field *field = nullptr;
    std::string where; /* "a.b.c" for messages */
    Type type;
    Kind kind = Kind::kConstant;
    const struct lc_value *value = nullptr; /* constant; NULL = null */
    Data cache;                             /* the constant, as long as was needed so far */
    Source source;
    Step step;                                            /* leaf */
    Type source_type;                                     /* leaf: what the reader delivers */
    int64_t oldest = std::numeric_limits<int64_t>::min(); /* leaf: values below mean another day in the file's calendar
                                                           */
    int column = -1;                                      /* leaf: Parquet column; -1 for arrays */
    bool is_flat = false;
    int at = -1; /* which child of the parent in the file, then which of those that are read */
    std::vector<Node> children;
};

class Resolver
{
  public:
    /* Without a descriptor: an array's type instead of a file's, where every field must be there by name. */
    Resolver(enum lc_match match, bool has_ids, const pq::SchemaDescriptor *descriptor, Calendar calendar)
        : match_(match), has_ids_(has_ids), descriptor_(descriptor), calendar_(calendar)
    {
    }

    void add_constant(const struct lc_constant *constant)
    {
        constants_[constant->field] = constant;
    }

    /* Columns that are read as parts of nested ones. */
    const std::set<int> &selected() const
    {
        return selected_;
    }

    Node resolve(const struct lc_field &field, const Type &type, const Source *found, const std::string &where,
                 int depth)
    {
        Node node;
        node.field = &field;
        node.where = where;
        node.type = type;
        auto constant = constants_.find(&field);
        if (depth > LC_MAX_DEPTH)
            fail(LC_R_SCHEMA_BAD, "column %s is nested deeper than %d levels", where.c_str(), LC_MAX_DEPTH);
        if (constant != constants_.end() && (!found || !constant->second->only_if_missing))
            node.value = constant->second->value;
        else if (!found)
            node.value = field.initial_default;
        else
            resolve_found(node, *found, depth);
        return node;
    }

    /* Children of a struct (the root, too), each found among `siblings`. */
    std::vector<Node> resolve_children(const struct lc_field &parent, const ar::DataType &type,
                                       const std::string &where, const Siblings &siblings,
                                       const std::function<Source(int)> &child, bool by_name, int depth)
    {
        std::vector<Node> nodes;
        for (size_t i = 0; i < parent.n_children; i++) {
            const struct lc_field &field = parent.children[i];
            std::string name = where.empty() ? field.name : where + "." + field.name;
            int at = by_name || !descriptor_ ? siblings.by_name(field.name) : siblings.find(field, match_, has_ids_);
            if (at == Siblings::kNone && !descriptor_)
                fail(LC_R_TYPE_MISMATCH, "column %s is not there", name.c_str());
            if (at == Siblings::kSeveral)
                fail(LC_R_PARQUET_BAD, "several columns of the file answer to column %s", name.c_str());
            Source source;
            if (at >= 0)
                source = child(at);
            nodes.push_back(
                resolve(field, type.field(static_cast<int>(i))->type(), at >= 0 ? &source : nullptr, name, depth));
            nodes.back().at = at;
        }
        return nodes;
    }

  private:
    [[noreturn]] static void mismatch(const Node &node, const Source &source)
    {
        fail(LC_R_TYPE_MISMATCH, "column %s is %s in the file, which cannot be read as the table's %s without loss",
             node.where.c_str(), source.field->type()->ToString().c_str(), type_text(*node.field).c_str());
    }

    void resolve_found(Node &node, const Source &source, int depth)
    {
        node.source = source;
        const ar::Type::type found = source.field->type()->id();
        switch (node.field->type.kind) {
        case LC_TYPE_STRUCT:
            if (found != ar::Type::STRUCT)
                mismatch(node, source);
            return resolve_struct(node, source, depth);
        case LC_TYPE_LIST:
            if (found != ar::Type::LIST)
                mismatch(node, source);
            node.kind = Node::Kind::kList;
            add_child(node, *node.type, source.child(0), 0, ".element", depth);
            return;
        case LC_TYPE_MAP:
            if (found != ar::Type::MAP)
                mismatch(node, source);
            node.kind = Node::Kind::kMap;
            for (int i = 0; i < 2; i++)
                add_child(node, *node.type->field(0)->type(), source.child(0).child(i), i, i ? ".value" : ".key",
                          depth);
            return;
        default:
            return resolve_leaf(node, source, depth);
        }
    }

    void add_child(Node &node, const ar::DataType &type, const Source &source, int at, const char *name, int depth)
    {
        node.children.push_back(
            resolve(node.field->children[at], type.field(at)->type(), &source, node.where + name, depth + 1));
        node.children.back().at = at;
    }

    void resolve_struct(Node &node, const Source &source, int depth)
    {
        Siblings siblings;
        for (int i = 0; i < source.n_children(); i++)
            siblings.add(*source.field->type()->field(i), i);
        bool is_variant = node.field->is_variant;
        if (is_variant && siblings.by_name("typed_value") != Siblings::kNone)
            fail(LC_R_PARQUET_UNSUPPORTED, "column %s is a shredded variant", node.where.c_str());
        node.kind = Node::Kind::kStruct;
        node.children = resolve_children(
            *node.field, *node.type, node.where, siblings, [&](int i) { return source.child(i); }, is_variant,
            depth + 1);
        bool has_child = std::any_of(node.children.begin(), node.children.end(),
                                     [](const Node &child) { return child.kind != Node::Kind::kConstant; });
        if (is_variant && !std::all_of(node.children.begin(), node.children.end(),
                                       [](const Node &child) { return child.kind == Node::Kind::kLeaf; }))
            mismatch(node, source);
        /* Which structs are null is known from any leaf below them. */
        if (!has_child && source.column)
            selected_.insert(plainest_leaf(*source.column).first);
    }

    void resolve_leaf(Node &node, const Source &source, int depth)
    {
        if (source.n_children() > 0)
            mismatch(node, source);
        node.kind = Node::Kind::kLeaf;
        node.source_type = source.field->type();
        bool is_int96 = false;
        if (source.column) {
            node.column = source.column->column_index;
            node.is_flat = depth == 0; /* a repeated one is a list */
            const pq::ColumnDescriptor *column = descriptor_->Column(node.column);
            is_int96 = column->physical_type() == pq::Type::INT96;
            if (node.is_flat && column->physical_type() == pq::Type::INT32 && integer_bits(*node.source_type) &&
                node.source_type->id() != ar::Type::UINT32)
                node.source_type = ar::int32(); /* what the column reader delivers, whatever its annotation */
            if (!node.is_flat)
                selected_.insert(node.column);
        }
        std::optional<Step> step = plan_leaf(*node.source_type, node.field->type);
        bool is_nano = node.field->type.kind == LC_TYPE_TIMESTAMP_NS ||
                       node.field->type.kind == LC_TYPE_TIMESTAMP_NS_TZ;
        if (!step || (is_int96 && is_nano))
            mismatch(node, source);
        node.step = *step;
        node.oldest = calendar_.first_agreed(*node.source_type, is_int96);
    }

    /* The leaf below a column that is repeated least, and how often it is. */
    std::pair<int, int> plainest_leaf(const pq::arrow::SchemaField &column) const
    {
        if (column.is_leaf())
            return {column.column_index, descriptor_->Column(column.column_index)->max_repetition_level()};
        std::pair<int, int> best{-1, INT32_MAX};
        for (const auto &child : column.children) {
            std::pair<int, int> found = plainest_leaf(child);
            if (found.second < best.second)
                best = found;
        }
        if (best.first < 0)
            fail(LC_R_PARQUET_BAD, "a group of the file's schema has no columns");
        return best;
    }

    const enum lc_match match_;
    const bool has_ids_;
    const pq::SchemaDescriptor *const descriptor_;
    const Calendar calendar_;
    std::unordered_map<const struct lc_field *, const struct lc_constant *> constants_;
    std::set<int> selected_;
};

bool is_read(const pq::arrow::SchemaField &column, const std::set<int> &selected)
{
    if (column.is_leaf())
        return selected.count(column.column_index) > 0;
    return std::any_of(column.children.begin(), column.children.end(),
                       [&](const pq::arrow::SchemaField &child) { return is_read(child, selected); });
}

/* Bytes of the leaves below a column in a row group; what a damaged footer says about sizes is no more than a guess. */
double packed_bytes(const pq::arrow::SchemaField &column, const pq::RowGroupMetaData &group)
{
    if (column.is_leaf())
        return static_cast<double>(group.ColumnChunk(column.column_index)->total_compressed_size());
    double bytes = 0;
    for (const pq::arrow::SchemaField &child : column.children)
        bytes += packed_bytes(child, group);
    return bytes;
}

/* The reader leaves out what is not selected: places among the children that are read. */
void number_children(Node &node, const std::set<int> &selected)
{
    for (Node &child : node.children) {
        if (node.kind == Node::Kind::kStruct && child.at >= 0 && node.source.column) {
            int place = 0;
            for (int i = 0; i < child.at; i++)
                place += is_read(node.source.column->children[static_cast<size_t>(i)], selected);
            child.at = place;
        }
        number_children(child, selected);
    }
}

/* ---- arrays as the nodes say ---- */

Data constant(Node &node, int64_t n, ar::MemoryPool *pool)
{
    if (!node.cache || node.cache->length < n)
        node.cache = constant_array(*node.field, node.value, node.type, std::max(n, kDefaultBatchRows), pool);
    return n == node.cache->length ? node.cache : node.cache->Slice(0, n);
}

Data convert(Node &node, const Data &in, ar::MemoryPool *pool);

/* Children keep their parent's offset: a child is as long as the one it replaces. */
Data convert_child(Node &child, const ar::ArrayData &parent, ar::MemoryPool *pool)
{
    if (child.kind == Node::Kind::kConstant)
        return constant(child, parent.offset + parent.length, pool);
    return convert(child, parent.child_data[static_cast<size_t>(child.at)], pool);
}

Data convert_struct(Node &node, const ar::ArrayData &in, ar::MemoryPool *pool)
{
    Data out = retyped(in, node.type);
    out->child_data.clear();
    for (Node &child : node.children)
        out->child_data.push_back(convert_child(child, in, pool));
    return out;
}

Data convert_list(Node &node, const ar::ArrayData &in, ar::MemoryPool *pool)
{
    Data out = retyped(in, node.type);
    out->child_data = {convert(node.children[0], in.child_data[0], pool)};
    return out;
}

Data convert_map(Node &node, const ar::ArrayData &in, ar::MemoryPool *pool)
{
    const ar::ArrayData &entries = *in.child_data[0];
    Data out = retyped(in, node.type);
    Data out_entries = retyped(entries, node.type->field(0)->type());
    out_entries->child_data = {convert(node.children[0], entries.child_data[0], pool),
                               convert(node.children[1], entries.child_data[1], pool)};
    out->child_data = {out_entries};
    return out;
}

void check_calendar(const Node &node, const ar::ArrayData &in)
{
    if (node.oldest == std::numeric_limits<int64_t>::min())
        return;
    each_integer(in, [&](int64_t, auto value) {
        if (std::cmp_less(value, node.oldest))
            fail(LC_R_PARQUET_UNSUPPORTED,
                 "column %s holds a time of long ago in the hybrid calendar of an old Spark; rewrite the file with a "
                 "newer one",
                 node.where.c_str());
    });
}

Data convert(Node &node, const Data &in, ar::MemoryPool *pool)
{
    switch (node.kind) {
    case Node::Kind::kConstant:
        return constant(node, in->length, pool);
    case Node::Kind::kLeaf:
        check_calendar(node, *in);
        return convert_leaf(*in, Leaf{node.field, node.type, node.where, node.step, pool});
    case Node::Kind::kStruct:
        return convert_struct(node, *in, pool);
    case Node::Kind::kList:
        return convert_list(node, *in, pool);
    case Node::Kind::kMap:
        return convert_map(node, *in, pool);
    }
    fail(LC_R_INTERNAL, "column %s: an unknown kind of node", node.where.c_str());
}

/* ======== pages ======== */

pq::ReaderProperties reader_properties(Pool *pool)
{
    pq::ReaderProperties properties(pool);
    properties.set_page_checksum_verification(false); /* PageStream does */
    properties.set_thrift_string_size_limit(kThriftStringLimit);
    properties.set_thrift_container_size_limit(kThriftContainerLimit);
    properties.set_schema_depth_limit(LC_MAX_DEPTH);
    return properties;
}

/* One reading for both readers: the file's own types, INT96 in microseconds. */
pq::ArrowReaderProperties arrow_properties()
{
    pq::ArrowReaderProperties properties(false);
    properties.set_pre_buffer(false);
    properties.set_coerce_int96_timestamp_unit(ar::TimeUnit::MICRO);
    properties.set_convert_flba_timestamps(false);
    return properties;
}

/* Values that the pages of a column chunk hold, against what the footer says. */
struct PageCount {
    int64_t expected = 0, seen = 0;
    std::shared_ptr<PageStream> stream;

    void must_be_complete(const std::string &column) const
    {
        if (seen != expected)
            fail(LC_R_PARQUET_BAD, "column %s holds other than the %" PRId64 " values that the footer promises",
                 column.c_str(), expected);
    }
};

bool is_unpacked_here(ar::Compression::type codec)
{
    return codec == ar::Compression::SNAPPY || codec == ar::Compression::ZSTD;
}

struct ZstdFree {
    void operator()(ZSTD_DCtx *context) const
    {
        ZSTD_freeDCtx(context);
    }
};

/*
 * Arrow's pages before Snappy or Zstandard were undone, undone here: the system's libraries are faster than those that
 * Arrow's wheel was built with, and most of a scan's time is spent in them.
 */
class UnpackedPages final : public pq::PageReader
{
  public:
    UnpackedPages(std::unique_ptr<pq::PageReader> packed, std::shared_ptr<PageStream> stream,
                  ar::Compression::type codec, Pool *pool)
        : packed_(std::move(packed)), stream_(std::move(stream)), codec_(codec),
          buffer_(take(ar::AllocateResizableBuffer(0, pool)))
    {
        if (codec == ar::Compression::ZSTD)
            zstd_.reset(ZSTD_createDCtx());
        if (codec == ar::Compression::ZSTD && !zstd_)
            throw std::bad_alloc();
    }

    std::shared_ptr<pq::Page> NextPage() override
    {
        std::shared_ptr<pq::Page> page = packed_->NextPage();
        if (!page)
            return page;
        if (page->type() == pq::PageType::DICTIONARY_PAGE) {
            const auto &dictionary = static_cast<const pq::DictionaryPage &>(*page);
            return std::make_shared<pq::DictionaryPage>(unpack(page->buffer(), 0, stream_->header().unpacked),
                                                        dictionary.num_values(), dictionary.encoding(),
                                                        dictionary.is_sorted());
        }
        if (page->type() == pq::PageType::DATA_PAGE) {
            const auto &data = static_cast<const pq::DataPageV1 &>(*page);
            return std::make_shared<pq::DataPageV1>(
                unpack(page->buffer(), 0, data.uncompressed_size()), data.num_values(), data.encoding(),
                data.definition_level_encoding(), data.repetition_level_encoding(), data.uncompressed_size());
        }
        const auto &data = static_cast<const pq::DataPageV2 &>(*page);
        if (!data.is_compressed())
            return page;
        int64_t levels = int64_t{data.definition_levels_byte_length()} + data.repetition_levels_byte_length();
        return std::make_shared<pq::DataPageV2>(unpack(page->buffer(), levels, data.uncompressed_size()),
                                                data.num_values(), data.num_nulls(), data.num_rows(), data.encoding(),
                                                data.definition_levels_byte_length(),
                                                data.repetition_levels_byte_length(), data.uncompressed_size());
    }

    void set_max_page_header_size(uint32_t size) override
    {
        packed_->set_max_page_header_size(size);
    }

  private:
    /* The first `levels` bytes are not packed. `size` is what the header says of all. */
    std::shared_ptr<ar::Buffer> unpack(const std::shared_ptr<ar::Buffer> &in, int64_t levels, int64_t size)
    {
        if (levels < 0 || in->size() < levels || size < levels)
            throw pq::ParquetException("Data page too small for levels");
        check(buffer_->Resize(size, false));
        if (levels > 0)
            memcpy(buffer_->mutable_data(), in->data(), static_cast<size_t>(levels));
        if (size > levels) /* Parquet's Java writer leaves out what would be nothing */
            undo(in->data() + levels, static_cast<size_t>(in->size() - levels), buffer_->mutable_data() + levels,
                 static_cast<size_t>(size - levels));
        return buffer_;
    }

    void undo(const uint8_t *from, size_t packed, uint8_t *to, size_t size)
    {
        if (codec_ == ar::Compression::ZSTD) {
            if (ZSTD_decompressDCtx(zstd_.get(), to, size, from, packed) != size)
                throw pq::ParquetException("corrupt Zstandard data, or of another length than its page header says");
            return;
        }
        const char *bytes = reinterpret_cast<const char *>(from);
        size_t unpacked = 0;
        if (snappy_uncompressed_length(bytes, packed, &unpacked) != SNAPPY_OK || unpacked != size)
            throw pq::ParquetException("Snappy data of another length than its page header says");
        if (snappy_uncompress(bytes, packed, reinterpret_cast<char *>(to), &unpacked) != SNAPPY_OK)
            throw pq::ParquetException("corrupt Snappy data");
    }

    const std::unique_ptr<pq::PageReader> packed_;
    const std::shared_ptr<PageStream> stream_;
    const ar::Compression::type codec_;
    std::unique_ptr<ZSTD_DCtx, ZstdFree> zstd_;
    const std::shared_ptr<ar::ResizableBuffer> buffer_;
};

/* Told of each data page's values before it is read; true skips it. */
using PageFilter = std::function<bool(int32_t values)>;

/* A file's column chunks as this reader opens them. */
struct PageSource {
    std::shared_ptr<StorageFile> file;
    std::shared_ptr<pq::FileMetaData> metadata;
    pq::ReaderProperties properties;
    int64_t window = kLocalWindow;
    Pool *pool = nullptr;

    std::unique_ptr<pq::PageReader> open(const pq::RowGroupMetaData &group, int column,
                                         const std::shared_ptr<PageCount> &count, PageFilter filter) const
    {
        std::unique_ptr<pq::ColumnChunkMetaData> chunk = group.ColumnChunk(column);
        const pq::ColumnDescriptor &descriptor = *metadata->schema()->Column(column);
        const std::string name = descriptor.path()->ToDotString();
        check_chunk(group, *chunk, descriptor, name);
        int64_t start = chunk->data_page_offset(), length = chunk->total_compressed_size();
        if (chunk->has_dictionary_page() && chunk->dictionary_page_offset() > 0)
            start = std::min(start, chunk->dictionary_page_offset());
        int64_t size = take(file->GetSize());
        if (start < 0 || length < 0 || start > size || length > size - start)
            fail(LC_R_PARQUET_BAD, "column %s lies at %" PRId64 " with %" PRId64 " bytes in a file of %" PRId64,
                 name.c_str(), start, length, size);
        /* parquet-mr before 1.3 forgot the dictionary page's header in the length. */
        bool is_short = metadata->writer_version().VersionLt(pq::ApplicationVersion::PARQUET_816_FIXED_VERSION());
        if (is_short)
            length += std::min<int64_t>(100, size - start - length);
        count->expected = chunk->num_values();
        count->stream = std::make_shared<PageStream>(file, start, length,
                                                     std::min(window, std::max<int64_t>(length, 1)), pool);
        /* Read to the end of the chunk, not to the promised count, so that a page too many shows. */
        int64_t total = is_short ? count->expected : std::numeric_limits<int64_t>::max();
        bool lies = metadata->writer_version().VersionLt(pq::ApplicationVersion::PARQUET_CPP_10353_FIXED_VERSION());
        ar::Compression::type codec = chunk->compression();
        auto pages = pq::PageReader::Open(count->stream, total,
                                          is_unpacked_here(codec) ? ar::Compression::UNCOMPRESSED : codec, properties,
                                          descriptor, lies);
        pages->set_data_page_filter([count = count.get(), filter = std::move(filter)](const pq::DataPageStats &page) {
            count->seen += page.num_values;
            bool skips = filter && filter(page.num_values);
            if (skips)
                count->stream->drop_next();
            return skips;
        });
        if (is_unpacked_here(codec))
            pages = std::make_unique<UnpackedPages>(std::move(pages), count->stream, codec, pool);
        return pages;
    }

  private:
    static void check_chunk(const pq::RowGroupMetaData &group, const pq::ColumnChunkMetaData &chunk,
                            const pq::ColumnDescriptor &descriptor, const std::string &name)
    {
        if (!chunk.file_path().empty())
            fail(LC_R_PARQUET_UNSUPPORTED, "column %s lies in another file", name.c_str());
        if (chunk.crypto_metadata())
            fail(LC_R_PARQUET_UNSUPPORTED, "column %s is encrypted", name.c_str());
        if (chunk.type() != descriptor.physical_type())
            fail(LC_R_PARQUET_BAD, "column %s has another type in its row group than in the schema", name.c_str());
        if (chunk.num_values() < 0 ||
            (descriptor.max_repetition_level() == 0 && chunk.num_values() != group.num_rows()))
            fail(LC_R_PARQUET_BAD, "column %s has %" PRId64 " values in a row group of %" PRId64 " rows", name.c_str(),
                 chunk.num_values(), group.num_rows());
    }
};

/* Arrow shows dictionaries through its row groups alone: this is one of a single column. */
class OneColumn final : public pq::RowGroupReader::Contents
{
  public:
    OneColumn(const PageSource &source, const pq::RowGroupMetaData &group, std::unique_ptr<pq::PageReader> pages)
        : source_(source), group_(group), pages_(std::move(pages))
    {
    }
    std::unique_ptr<pq::PageReader> GetColumnPageReader(int) override
    {
        return std::move(pages_);
    }
    const pq::RowGroupMetaData *metadata() const override
    {
        return &group_;
    }
    const pq::ReaderProperties *properties() const override
    {
        return &source_.properties;
    }

  private:
    const PageSource &source_;
    const pq::RowGroupMetaData &group_;
    std::unique_ptr<pq::PageReader> pages_;
};

/* The two faces under which parquet::arrow gets its pages from a PageSource. */
class CountedRowGroup final : public pq::RowGroupReader::Contents
{
  public:
    CountedRowGroup(const PageSource &source, int group,
                    std::vector<std::pair<int, std::shared_ptr<PageCount>>> &counts)
        : source_(source), group_(source.metadata->RowGroup(group)), counts_(counts)
    {
    }
    std::unique_ptr<pq::PageReader> GetColumnPageReader(int column) override
    {
        counts_.emplace_back(column, std::make_shared<PageCount>());
        return source_.open(*group_, column, counts_.back().second, nullptr);
    }
    const pq::RowGroupMetaData *metadata() const override
    {
        return group_.get();
    }
    const pq::ReaderProperties *properties() const override
    {
        return &source_.properties;
    }

  private:
    const PageSource &source_;
    std::unique_ptr<pq::RowGroupMetaData> group_;
    std::vector<std::pair<int, std::shared_ptr<PageCount>>> &counts_;
};

class CountedFile final : public pq::ParquetFileReader::Contents
{
  public:
    CountedFile(const PageSource &source, std::vector<std::pair<int, std::shared_ptr<PageCount>>> &counts)
        : source_(source), counts_(counts)
    {
    }
    void Close() override
    {
    }
    std::shared_ptr<pq::RowGroupReader> GetRowGroup(int group) override
    {
        return std::make_shared<pq::RowGroupReader>(std::make_unique<CountedRowGroup>(source_, group, counts_));
    }
    std::shared_ptr<pq::FileMetaData> metadata() const override
    {
        return source_.metadata;
    }
    std::shared_ptr<pq::PageIndexReader> GetPageIndexReader() override
    {
        return nullptr;
    }
    pq::BloomFilterReader &GetBloomFilterReader() override
    {
        throw pq::ParquetException("bloom filters are not read");
    }

  private:
    const PageSource &source_;
    std::vector<std::pair<int, std::shared_ptr<PageCount>>> &counts_;
};

/* ======== flat columns ======== */

/* Consecutive rows of a row group. */
struct Run {
    int64_t first, n;
    int64_t end() const
    {
        return first + n;
    }
};

/*
 * A top-level primitive column of one row group. Rows are counted by what the page headers say; pages without a wanted
 * row are not decompressed, and what is left when all wanted rows are read is still counted.
 */
class FlatColumn
{
  public:
    using Wanted = std::function<bool(int64_t first, int64_t n)>;

    FlatColumn(std::string name, int64_t rows, Wanted wanted)
        : name_(std::move(name)), rows_(rows), wanted_(std::move(wanted))
    {
    }
    virtual ~FlatColumn() = default;
    FlatColumn(const FlatColumn &) = delete;
    FlatColumn &operator=(const FlatColumn &) = delete;

    virtual Data read(const std::vector<Run> &runs, int64_t n) = 0;

    /* The rows at which the offset index says pages begin, to be held against the pages themselves. */
    void expect_pages(std::vector<int64_t> starts)
    {
        starts_ = std::move(starts);
    }

    /* All wanted rows were read: the rest is counted, not read. */
    void finish()
    {
        wants_none_ = true;
        leave_page();
        if (has_next() || page_end_ != rows_)
            ends_early();
        count_->must_be_complete(name_);
        if (!starts_.empty() && page_ != starts_.size())
            fail(LC_R_PARQUET_BAD, "column %s has other pages than its offset index says", name_.c_str());
    }

  protected:
    bool skip_page(int32_t values)
    {
        if (!starts_.empty() && (page_ >= starts_.size() || starts_[page_] != page_end_))
            fail(LC_R_PARQUET_BAD, "column %s has other pages than its offset index says", name_.c_str());
        page_++;
        int64_t first = page_end_;
        if (values > rows_ - first)
            fail(LC_R_PARQUET_BAD, "column %s holds more than the %" PRId64 " rows of its row group", name_.c_str(),
                 rows_);
        page_end_ = first + values;
        bool skips = values == 0 || wants_none_ || !wanted_(first, values);
        row_ = skips ? page_end_ : first;
        return skips;
    }

    /* Goes on to `row`, which is wanted and not behind. */
    void seek(int64_t row)
    {
        while (row >= page_end_) {
            leave_page();
            if (!has_next())
                ends_early();
        }
        if (row < row_)
            fail(LC_R_INTERNAL, "column %s: row %" PRId64 " was skipped", name_.c_str(), row);
        if (row > row_)
            skip_rows(row - row_);
        row_ = row;
    }

    [[noreturn]] void ends_early() const
    {
        fail(LC_R_PARQUET_BAD, "column %s ends after %" PRId64 " of %" PRId64 " rows", name_.c_str(), page_end_, rows_);
    }

    virtual bool has_next() = 0;
    virtual void skip_rows(int64_t n) = 0;

    const std::string name_;
    const int64_t rows_;
    int64_t row_ = 0, page_end_ = 0; /* the next row, the end of its page */
    std::shared_ptr<PageCount> count_ = std::make_shared<PageCount>();

  private:
    void leave_page()
    {
        if (row_ < page_end_)
            skip_rows(page_end_ - row_);
        row_ = page_end_;
    }

    const Wanted wanted_;
    bool wants_none_ = false;
    std::vector<int64_t> starts_;
    size_t page_ = 0;
};

/* Big-endian two's complement, of any length that Parquet allows. */
lc_i128 decimal_of(const uint8_t *bytes, int64_t n, const std::string &column)
{
    if (n <= 0)
        fail(LC_R_PARQUET_BAD, "column %s holds a decimal without digits", column.c_str());
    uint8_t sign = bytes[0] & 0x80 ? 0xFF : 0;
    for (; n > 16; n--, bytes++)
        if (bytes[0] != sign)
            fail(LC_R_PARQUET_BAD, "column %s holds a decimal of more than 128 bits", column.c_str());
    lc_u128 value = sign ? ~static_cast<lc_u128>(0) : 0;
    for (int64_t i = 0; i < n; i++)
        value = value << 8 | bytes[i];
    return static_cast<lc_i128>(value);
}

/* Julian day and nanoseconds of the day as microseconds since 1970, in Spark's arithmetic, which wraps both ways. */
int64_t micros_of(const pq::Int96 &value)
{
    int64_t nanos;
    memcpy(&nanos, value.value.data(), sizeof(nanos));
    int64_t days = int64_t{static_cast<int32_t>(value.value[2])} - 2440588;
    return static_cast<int64_t>(static_cast<uint64_t>(days) * static_cast<uint64_t>(kMicrosPerDay) +
                                static_cast<uint64_t>(nanos / 1000));
}

template <size_t kWidth> void copy_both_ends(uint8_t *to, const uint8_t *from, size_t n)
{
    uint8_t last[kWidth];
    memcpy(last, from + n - kWidth, kWidth);
    memcpy(to, from, kWidth);
    memcpy(to + n - kWidth, last, kWidth);
}

/* Most texts are short: a call takes as long as the copy. */
inline void copy_text(uint8_t *to, const uint8_t *from, size_t n)
{
    if (n > 64)
        memcpy(to, from, n);
    else if (n >= 32)
        copy_both_ends<32>(to, from, n);
    else if (n >= 16)
        copy_both_ends<16>(to, from, n);
    else if (n >= 8)
        copy_both_ends<8>(to, from, n);
    else if (n >= 4)
        copy_both_ends<4>(to, from, n);
    else
        for (size_t i = 0; i < n; i++)
            to[i] = from[i];
}

template <class D> class TypedColumn final : public FlatColumn
{
    using T = typename D::c_type;
    static constexpr bool kIsBytes = std::is_same_v<D, pq::ByteArrayType>;
    static constexpr bool kIsFixed = std::is_same_v<D, pq::FLBAType>;
    static constexpr bool kIsBool = std::is_same_v<D, pq::BooleanType>;
    static constexpr bool kIsInt96 = std::is_same_v<D, pq::Int96Type>;
    static constexpr bool kIsPlain = !kIsBytes && !kIsFixed && !kIsBool && !kIsInt96;

  public:
    TypedColumn(const PageSource &source, const pq::RowGroupMetaData &group, const Node &node, bool keeps_dictionary,
                Wanted wanted, ar::MemoryPool *pool)
        : FlatColumn(node.where, group.num_rows(), std::move(wanted)), type_(node.source_type), pool_(pool),
          pages_pool_(source.pool)
    {
        const pq::ColumnDescriptor *descriptor = source.metadata->schema()->Column(node.column);
        auto pages = source.open(group, node.column, count_, [this](int32_t values) { return skip_page(values); });
        is_decimal_ = type_->id() == ar::Type::DECIMAL128;
        asks_for_codes_ = kIsBytes && keeps_dictionary && !is_decimal_;
        auto reader = asks_for_codes_ ? pq::RowGroupReader(std::make_unique<OneColumn>(source, group, std::move(pages)))
                                            .ColumnWithExposeEncoding(node.column, pq::ExposedEncoding::DICTIONARY)
                                      : pq::ColumnReader::Make(descriptor, std::move(pages), source.pool);
        reader_ = std::static_pointer_cast<pq::TypedColumnReader<D>>(reader);
        max_level_ = descriptor->max_definition_level();
        width_ = kIsFixed && !is_decimal_ ? descriptor->type_length() : is_decimal_ ? 16 : 8;
        length_ = descriptor->type_length();
    }

    Data read(const std::vector<Run> &runs, int64_t n) override
    {
        begin(n);
        for (const Run &run : runs)
            for (int64_t row = run.first; row < run.end();) {
                seek(row);
                int64_t k = std::min(run.end(), page_end_) - row;
                decode(k);
                row += k;
                row_ = row;
            }
        return end(n);
    }

  protected:
    bool has_next() override
    {
        return reader_->HasNext();
    }
    void skip_rows(int64_t n) override
    {
        if (reader_->Skip(n) != n)
            ends_early();
    }

  private:
    void begin(int64_t n)
    {
        filled_ = nulls_ = 0;
        data_.reset();
        levels_.resize(static_cast<size_t>(n));
        valid_ = max_level_ > 0 ? zeroed((n + 7) / 8, pool_) : nullptr;
        if (asks_for_codes_)
            choose_codes();
        if (codes_) {
            values_ = allocate(n * 4, pool_);
            return;
        }
        if (!kIsPlain && n > scratch_size_) {
            scratch_ = std::make_unique<T[]>(static_cast<size_t>(n));
            scratch_size_ = n;
        }
        if (kIsBytes && !is_decimal_) {
            values_ = allocate((n + 1) * 4, pool_);
            values_->mutable_data_as<int32_t>()[0] = 0;
            data_ = std::make_unique<ar::BufferBuilder>(pool_);
        } else if (kIsBool) {
            values_ = zeroed((n + 7) / 8, pool_);
        } else if (kIsPlain) {
            values_ = allocate(n * static_cast<int64_t>(sizeof(T)), pool_);
        } else {
            values_ = allocate(n * width_, pool_);
        }
    }

    /* Codes stand for texts where there are few of these. */
    void choose_codes()
    {
        if constexpr (kIsBytes) {
            const T *texts = nullptr;
            int32_t n = 0;
            int64_t none = 0;
            asks_for_codes_ = false;
            if (reader_->GetExposedEncoding() != pq::ExposedEncoding::DICTIONARY || !has_next())
                return;
            reader_->ReadBatchWithDictionary(0, nullptr, nullptr, nullptr, &none, &texts, &n);
            if (texts && n <= kMostCodes)
                codes_ = dictionary_of(texts, n);
        }
    }

    Data dictionary_of([[maybe_unused]] const T *texts, [[maybe_unused]] int32_t n)
    {
        if constexpr (kIsBytes) {
            int64_t total = std::accumulate(texts, texts + n, INT64_C(0),
                                            [](int64_t sum, const T &text) { return sum + text.len; });
            if (total > std::numeric_limits<int32_t>::max())
                return nullptr;
            auto offsets = allocate((n + 1) * INT64_C(4), pages_pool_), bytes = allocate(total, pages_pool_);
            int32_t end = 0;
            for (int32_t i = 0; i < n; i++) {
                offsets->mutable_data_as<int32_t>()[i] = end;
                if (texts[i].len)
                    memcpy(bytes->mutable_data() + end, texts[i].ptr, texts[i].len);
                end += static_cast<int32_t>(texts[i].len);
            }
            offsets->mutable_data_as<int32_t>()[n] = end;
            return ar::ArrayData::Make(type_, n, {nullptr, offsets, bytes}, 0);
        }
        return nullptr;
    }

    /* A code per row; rows without a value have any that exists. */
    void decode_codes([[maybe_unused]] int64_t k)
    {
        if constexpr (kIsBytes) {
            int32_t *out = values_->mutable_data_as<int32_t>() + filled_;
            int16_t *levels = max_level_ > 0 ? levels_.data() : nullptr;
            int64_t present = 0;
            int64_t got = reader_->ReadBatchWithDictionary(k, levels, nullptr, out, &present, nullptr, nullptr);
            check_decoded(k, got, present, levels);
            uint32_t most = 0;
            for (int64_t i = 0; i < present; i++)
                most = std::max(most, static_cast<uint32_t>(out[i]));
            if (present > 0 && most >= static_cast<uint64_t>(codes_->length))
                fail(LC_R_PARQUET_BAD, "column %s names entry %" PRIu32 " of a dictionary of %" PRId64, name_.c_str(),
                     most, codes_->length);
            for (int64_t i = k, last = present; last < i--;)
                out[i] = levels[i] == max_level_ ? out[--last] : 0;
        }
    }

    void check_decoded(int64_t k, int64_t got, int64_t present, const int16_t *levels)
    {
        int64_t expected = levels ? std::count(levels, levels + std::min(k, got), max_level_) : k;
        if (got != k || present != expected)
            fail(LC_R_PARQUET_BAD, "column %s has a page with fewer values than its header says", name_.c_str());
        if (levels)
            mark(k, present);
        nulls_ += k - present;
    }

    /* Decodes the next `k` rows, all of one page. */
    void decode(int64_t k)
    {
        if (codes_) {
            decode_codes(k);
            filled_ += k;
            return;
        }
        T *out = scratch_.get();
        if constexpr (kIsPlain)
            out = values_->mutable_data_as<T>() + filled_;
        int16_t *levels = max_level_ > 0 ? levels_.data() : nullptr;
        int64_t present = 0;
        int64_t got = reader_->ReadBatch(k, levels, nullptr, out, &present);
        check_decoded(k, got, present, levels);
        store(out, k, present);
        filled_ += k;
    }

    void mark(int64_t k, int64_t present)
    {
        uint8_t *bits = valid_->mutable_data();
        if (present == k) {
            ar::bit_util::SetBitsTo(bits, filled_, k, true);
            return;
        }
        for (int64_t i = 0; i < k; i++)
            if (levels_[static_cast<size_t>(i)] == max_level_)
                ar::bit_util::SetBit(bits, filled_ + i);
    }

    /* Calls `f(row, value)` for rows with a value, `none(row)` for others. */
    template <class F, class None> void spread(const T *in, int64_t k, int64_t present, F &&f, None &&none)
    {
        for (int64_t i = 0; i < k; i++)
            if (present == k || levels_[static_cast<size_t>(i)] == max_level_)
                f(filled_ + i, *in++);
            else
                none(filled_ + i);
    }

    void store(T *in, int64_t k, int64_t present)
    {
        uint8_t *out = values_->mutable_data();
        if constexpr (kIsPlain)
            space_out(in, k, present);
        else if constexpr (kIsBool)
            spread(
                in, k, present,
                [&](int64_t row, bool value) {
                    if (value)
                        ar::bit_util::SetBit(out, row);
                },
                [](int64_t) {});
        else if constexpr (kIsInt96)
            spread(
                in, k, present,
                [&](int64_t row, const pq::Int96 &value) {
                    values_->mutable_data_as<int64_t>()[row] = micros_of(value);
                },
                [&](int64_t row) { values_->mutable_data_as<int64_t>()[row] = 0; });
        else if (is_decimal_)
            spread(
                in, k, present,
                [&](int64_t row, const T &value) {
                    store_decimal(out + 16 * row, decimal_of(value.ptr, length_of(value), name_));
                },
                [&](int64_t row) { store_decimal(out + 16 * row, 0); });
        else if constexpr (kIsFixed)
            spread(
                in, k, present,
                [&](int64_t row, const T &value) {
                    memcpy(out + width_ * row, value.ptr, static_cast<size_t>(width_));
                },
                [&](int64_t row) { memset(out + width_ * row, 0, static_cast<size_t>(width_)); });
        else
            store_bytes(in, k, present);
    }

    int64_t length_of(const T &value) const
    {
        if constexpr (kIsBytes)
            return value.len;
        else
            return length_;
    }

    void store_bytes([[maybe_unused]] const T *in, [[maybe_unused]] int64_t k, [[maybe_unused]] int64_t present)
    {
        if constexpr (kIsBytes) {
            int64_t total = 0;
            for (int64_t i = 0; i < present; i++)
                total += in[i].len;
            if (total > std::numeric_limits<int32_t>::max() - data_->length())
                throw BatchTooLarge();
            check(data_->Reserve(total));
            int32_t *offsets = values_->mutable_data_as<int32_t>();
            uint8_t *const base = data_->mutable_data(), *to = base + data_->length();
            auto end = [&](int64_t row) { offsets[row + 1] = static_cast<int32_t>(to - base); };
            spread(
                in, k, present,
                [&](int64_t row, const pq::ByteArray &value) {
                    copy_text(to, value.ptr, value.len);
                    to += value.len;
                    end(row);
                },
                end);
            data_->UnsafeAdvance(total);
        }
    }

    /* Values were decoded without gaps; from the last on they move to their rows. */
    void space_out([[maybe_unused]] T *values, int64_t k, int64_t present)
    {
        if constexpr (kIsPlain)
            for (int64_t i = k; present < i--;)
                values[i] = levels_[static_cast<size_t>(i)] == max_level_ ? values[--present] : T{};
    }

    Data end(int64_t n)
    {
        if (nulls_ == 0)
            valid_.reset();
        if (codes_) {
            Data out = ar::ArrayData::Make(ar::dictionary(ar::int32(), type_), n, {valid_, values_}, nulls_);
            out->dictionary = codes_;
            return out;
        }
        if (kIsBytes && !is_decimal_) {
            std::shared_ptr<ar::Buffer> bytes = take(data_->Finish());
            return ar::ArrayData::Make(type_, n, {valid_, values_, bytes}, nulls_);
        }
        if (is_decimal_ && kIsPlain)
            return integers_to_decimals(n);
        return ar::ArrayData::Make(type_, n, {valid_, values_}, nulls_);
    }

    /* Decimals of few digits are stored as integers. */
    Data integers_to_decimals(int64_t n)
    {
        auto out = allocate(n * 16, pool_);
        if constexpr (kIsPlain)
            for (int64_t i = 0; i < n; i++)
                store_decimal(out->mutable_data() + 16 * i, static_cast<lc_i128>(values_->data_as<T>()[i]));
        return ar::ArrayData::Make(type_, n, {valid_, out}, nulls_);
    }

    std::shared_ptr<pq::TypedColumnReader<D>> reader_;
    const Type type_;
    ar::MemoryPool *const pool_, *const pages_pool_;
    int16_t max_level_;
    bool is_decimal_, asks_for_codes_ = false;
    Data codes_; /* the texts that codes stand for; NULL: texts are read */
    int64_t width_, length_;
    std::vector<int16_t> levels_;
    std::unique_ptr<T[]> scratch_;
    int64_t scratch_size_ = 0;
    std::shared_ptr<ar::Buffer> valid_, values_;
    std::unique_ptr<ar::BufferBuilder> data_;
    int64_t filled_ = 0, nulls_ = 0;
};

std::unique_ptr<FlatColumn> open_flat(const PageSource &source, const pq::RowGroupMetaData &group, const Node &node,
                                      bool keeps_dictionary, FlatColumn::Wanted wanted, ar::MemoryPool *pool)
{
    switch (source.metadata->schema()->Column(node.column)->physical_type()) {
    case pq::Type::BOOLEAN:
        return std::make_unique<TypedColumn<pq::BooleanType>>(source, group, node, keeps_dictionary, std::move(wanted),
                                                              pool);
    case pq::Type::INT32:
        return std::make_unique<TypedColumn<pq::Int32Type>>(source, group, node, keeps_dictionary, std::move(wanted),
                                                            pool);
    case pq::Type::INT64:
        return std::make_unique<TypedColumn<pq::Int64Type>>(source, group, node, keeps_dictionary, std::move(wanted),
                                                            pool);
    case pq::Type::INT96:
        return std::make_unique<TypedColumn<pq::Int96Type>>(source, group, node, keeps_dictionary, std::move(wanted),
                                                            pool);
    case pq::Type::FLOAT:
        return std::make_unique<TypedColumn<pq::FloatType>>(source, group, node, keeps_dictionary, std::move(wanted),
                                                            pool);
    case pq::Type::DOUBLE:
        return std::make_unique<TypedColumn<pq::DoubleType>>(source, group, node, keeps_dictionary, std::move(wanted),
                                                             pool);
    case pq::Type::BYTE_ARRAY:
        return std::make_unique<TypedColumn<pq::ByteArrayType>>(source, group, node, keeps_dictionary,
                                                                std::move(wanted), pool);
    case pq::Type::FIXED_LEN_BYTE_ARRAY:
        return std::make_unique<TypedColumn<pq::FLBAType>>(source, group, node, keeps_dictionary, std::move(wanted),
                                                           pool);
    case pq::Type::UNDEFINED:
        break;
    }
    fail(LC_R_PARQUET_UNSUPPORTED, "column %s has an unknown physical type", node.where.c_str());
}

/* ======== nested columns ======== */

/* The columns of one row group that are not flat, through parquet::arrow: every row is decoded, the wanted are kept. */
class NestedColumns
{
  public:
    NestedColumns(const PageSource &source, const std::set<int> &columns, ar::MemoryPool *pool)
        : metadata_(*source.metadata), columns_(columns.begin(), columns.end()), pool_(pool), context_(pool)
    {
        auto pages = std::make_unique<pq::ParquetFileReader>();
        pages->Open(std::make_unique<CountedFile>(source, counts_));
        reader_ = take(pq::arrow::FileReader::Make(pool, std::move(pages), arrow_properties()));
        context_.set_use_threads(false);
    }

    void open_row_group(int group)
    {
        batches_.reset();
        counts_.clear();
        row_ = 0;
        rows_ = metadata_.RowGroup(group)->num_rows();
        batches_ = take(reader_->GetRecordBatchReader({group}, columns_));
    }

    /* The arrays of the top-level fields, in file order. */
    ar::ArrayVector read(const std::vector<Run> &runs, int64_t step)
    {
        std::vector<ar::ArrayVector> pieces(static_cast<size_t>(batches_->schema()->num_fields()));
        int64_t end = runs.back().end();
        size_t next = 0;
        while (row_ < end) {
            int64_t first = row_;
            std::shared_ptr<ar::RecordBatch> batch = pull(std::min(step, end - row_));
            std::vector<Run> here = cut(runs, next, first, row_);
            if (!here.empty())
                keep(*batch, here, first, pieces);
        }
        ar::ArrayVector out;
        for (const ar::ArrayVector &parts : pieces)
            out.push_back(parts.size() == 1 ? parts[0] : take(ar::Concatenate(parts, pool_)));
        return out;
    }

    void finish(int64_t step)
    {
        while (row_ < rows_)
            pull(std::min(step, rows_ - row_));
        for (const auto &[column, count] : counts_)
            count->must_be_complete(metadata_.schema()->Column(column)->path()->ToDotString());
    }

  private:
    std::shared_ptr<ar::RecordBatch> pull(int64_t n)
    {
        std::shared_ptr<ar::RecordBatch> batch;
        reader_->set_batch_size(n);
        check(batches_->ReadNext(&batch));
        if (!batch || batch->num_rows() == 0 || batch->num_rows() > n)
            fail(LC_R_PARQUET_BAD, "nested columns end after %" PRId64 " of %" PRId64 " rows", row_, rows_);
        row_ += batch->num_rows();
        return batch;
    }

    /* The parts of the runs that lie in [first, end); `next` is the first run that may. */
    static std::vector<Run> cut(const std::vector<Run> &runs, size_t &next, int64_t first, int64_t end)
    {
        std::vector<Run> out;
        while (next < runs.size() && runs[next].end() <= first)
            next++;
        for (size_t i = next; i < runs.size() && runs[i].first < end; i++) {
            int64_t from = std::max(first, runs[i].first);
            out.push_back(Run{from, std::min(end, runs[i].end()) - from});
        }
        return out;
    }

    void keep(const ar::RecordBatch &batch, const std::vector<Run> &runs, int64_t first,
              std::vector<ar::ArrayVector> &pieces)
    {
        std::shared_ptr<ar::Array> rows;
        if (runs.size() > 1) {
            ar::Int64Builder builder(pool_);
            for (const Run &run : runs)
                for (int64_t i = 0; i < run.n; i++)
                    check(builder.Append(run.first + i - first));
            rows = take(builder.Finish());
        }
        for (int i = 0; i < batch.num_columns(); i++)
            pieces[static_cast<size_t>(i)].push_back(
                rows ? take(ar::compute::Take(*batch.column(i), *rows, ar::compute::TakeOptions::NoBoundsCheck(),
                                              &context_))
                     : batch.column(i)->Slice(runs[0].first - first, runs[0].n));
    }

    const pq::FileMetaData &metadata_;
    const std::vector<int> columns_;
    ar::MemoryPool *const pool_;
    ar::compute::ExecContext context_;
    std::vector<std::pair<int, std::shared_ptr<PageCount>>> counts_;
    std::unique_ptr<pq::arrow::FileReader> reader_;
    std::unique_ptr<ar::RecordBatchReader> batches_;
    int64_t row_ = 0, rows_ = 0;
};

/* ======== statistics ======== */

lc_i128 little_endian(const std::string &bytes, int width, bool has_sign)
{
    uint64_t value = 0;
    for (int i = width; i-- > 0;)
        value = value << 8 | static_cast<uint8_t>(bytes[static_cast<size_t>(i)]);
    if (has_sign && width == 4)
        return static_cast<int32_t>(static_cast<uint32_t>(value));
    return has_sign ? static_cast<lc_i128>(static_cast<int64_t>(value)) : static_cast<lc_i128>(value);
}

/* An integer bound (also of dates, times, decimals) as the node's leaf type. */
bool bound_of_integer(const Node &node, lc_i128 value, struct lc_value *out)
{
    const enum lc_type_kind kind = node.field->type.kind;
    if (kind == LC_TYPE_DECIMAL) {
        int scale = node.source_type->id() == ar::Type::DECIMAL128
                        ? static_cast<const ar::Decimal128Type &>(*node.source_type).scale()
                        : 0;
        return !__builtin_mul_overflow(value, lc_pow10(node.field->type.scale - scale), &out->dec);
    }
    if (kind == LC_TYPE_DOUBLE) {
        out->f = static_cast<double>(value);
        return true;
    }
    return static_cast<int64_t>(value) == value && apply_step(node.step, static_cast<int64_t>(value), &out->i);
}

bool bound_of_float(double value, struct lc_value *out)
{
    out->f = value;
    return !std::isnan(value);
}

/* A bound as a file writes it; false when it cannot be trusted or understood. `bytes` must outlive `out`. */
bool bound_of(const Node &node, const pq::ColumnDescriptor &column, const std::string &bytes, struct lc_value *out)
{
    *out = lc_value{};
    out->type = node.field->type;
    const ar::Type::type type = node.source_type->id();
    switch (column.physical_type()) {
    case pq::Type::BOOLEAN:
        out->b = bytes.size() == 1 && bytes[0];
        return bytes.size() == 1;
    case pq::Type::INT32:
        return bytes.size() == 4 && bound_of_integer(node, little_endian(bytes, 4, type != ar::Type::UINT32), out);
    case pq::Type::INT64:
        return bytes.size() == 8 && bound_of_integer(node, little_endian(bytes, 8, type != ar::Type::UINT64), out);
    case pq::Type::FLOAT: {
        float value;
        if (bytes.size() != sizeof(value))
            return false;
        memcpy(&value, bytes.data(), sizeof(value));
        return bound_of_float(static_cast<double>(value), out);
    }
    case pq::Type::DOUBLE: {
        double value;
        if (bytes.size() != sizeof(value))
            return false;
        memcpy(&value, bytes.data(), sizeof(value));
        return bound_of_float(value, out);
    }
    case pq::Type::BYTE_ARRAY:
    case pq::Type::FIXED_LEN_BYTE_ARRAY:
        if (type == ar::Type::DECIMAL128)
            return !bytes.empty() && bytes.size() <= 16 &&
                   bound_of_integer(node,
                                    decimal_of(reinterpret_cast<const uint8_t *>(bytes.data()),
                                               static_cast<int64_t>(bytes.size()), node.where),
                                    out);
        out->str = lc_str{bytes.data(), bytes.size()};
        return type == ar::Type::STRING || type == ar::Type::BINARY || type == ar::Type::FIXED_SIZE_BINARY;
    case pq::Type::INT96:
    case pq::Type::UNDEFINED:
        break;
    }
    return false;
}

bool excludes(const struct lc_range &range, const Node &node, const pq::ColumnDescriptor &column,
              const std::string *min, const std::string *max, int64_t null_count, int64_t row_count)
{
    struct lc_value low, high;
    bool has_order = column.can_use_min_max();
    struct lc_column_stats stats = {};
    stats.min = has_order && min && bound_of(node, column, *min, &low) ? &low : nullptr;
    stats.max = has_order && max && bound_of(node, column, *max, &high) ? &high : nullptr;
    stats.null_count = null_count;
    stats.row_count = row_count;
    return lc_range_excludes(&range, &stats);
}

bool row_group_excluded(const struct lc_range &range, const Node &node, const pq::RowGroupMetaData &group)
{
    const pq::ColumnDescriptor &column = *group.schema()->Column(node.column);
    std::unique_ptr<pq::ColumnChunkMetaData> chunk = group.ColumnChunk(node.column);
    std::shared_ptr<pq::EncodedStatistics> stats = chunk->encoded_statistics(); /* NULL where the writer got them wrong
                                                                                 */
    return stats && excludes(range, node, column, stats->has_min ? &stats->min() : nullptr,
                             stats->has_max ? &stats->max() : nullptr, stats->has_null_count ? stats->null_count : -1,
                             chunk->num_values());
}

/* A constant column answers for the whole file. */
bool constant_excluded(const struct lc_range &range, const Node &node, int64_t rows)
{
    bool is_null = !node.value || node.value->is_null;
    struct lc_column_stats stats = {};
    stats.min = stats.max = is_null ? nullptr : node.value;
    stats.null_count = is_null ? rows : 0;
    stats.row_count = rows;
    return lc_range_excludes(&range, &stats);
}

/* The pages of one column that may hold wanted rows, and where all its pages begin. Empty without a page index. */
struct PageChoice {
    std::vector<int64_t> starts;
    std::vector<Run> wanted;
};

PageChoice choose_pages(const struct lc_range &range, const Node &node, pq::RowGroupPageIndexReader &index,
                        const pq::RowGroupMetaData &group)
{
    const pq::ColumnDescriptor &column = *group.schema()->Column(node.column);
    PageChoice out;
    if (column.column_order().get_order() != pq::ColumnOrder::TYPE_DEFINED_ORDER)
        return out;
    std::shared_ptr<pq::ColumnIndex> stats = index.GetColumnIndex(node.column);
    std::shared_ptr<pq::OffsetIndex> offsets = stats ? index.GetOffsetIndex(node.column) : nullptr;
    if (!offsets)
        return out;
    const std::vector<pq::PageLocation> &pages = offsets->page_locations();
    size_t n = pages.size();
    bool has_counts = stats->has_null_counts();
    if (n == 0 || stats->null_pages().size() != n || stats->encoded_min_values().size() != n ||
        stats->encoded_max_values().size() != n || (has_counts && stats->null_counts().size() != n))
        fail(LC_R_PARQUET_BAD, "column %s has a page index whose parts differ in length", node.where.c_str());
    for (size_t i = 0; i < n; i++) {
        int64_t first = pages[i].first_row_index, end = i + 1 < n ? pages[i + 1].first_row_index : group.num_rows();
        if ((i == 0 && first != 0) || first < 0 || end < first || end > group.num_rows())
            fail(LC_R_PARQUET_BAD, "column %s has an offset index whose rows do not rise", node.where.c_str());
        bool is_null = stats->null_pages()[i];
        int64_t nulls = is_null ? end - first : has_counts ? stats->null_counts()[i] : -1;
        out.starts.push_back(first);
        if (!excludes(range, node, column, is_null ? nullptr : &stats->encoded_min_values()[i],
                      is_null ? nullptr : &stats->encoded_max_values()[i], nulls, end - first))
            out.wanted.push_back(Run{first, end - first});
    }
    return out;
}

std::vector<Run> intersection(const std::vector<Run> &a, const std::vector<Run> &b)
{
    std::vector<Run> out;
    for (size_t i = 0, j = 0; i < a.size() && j < b.size();) {
        int64_t first = std::max(a[i].first, b[j].first), end = std::min(a[i].end(), b[j].end());
        if (first < end && !out.empty() && out.back().end() == first)
            out.back().n = end - out.back().first;
        else if (first < end)
            out.push_back(Run{first, end - first});
        if (a[i].end() < b[j].end())
            i++;
        else
            j++;
    }
    return out;
}

/* ======== scan ======== */

/* An open file: its footer and the schema in it. */
struct File {
    std::string path;
    PoolOwner pool{new Pool(kFooterMemory)};
    std::shared_ptr<StorageFile> source;
    std::shared_ptr<pq::FileMetaData> metadata;
    pq::arrow::SchemaManifest manifest;
    Siblings columns;
    bool has_ids = false;
    Calendar calendar;
    struct lc_arena arena = {};
    struct lc_field *schema = nullptr;

    File() = default;
    File(const File &) = delete;
    File &operator=(const File &) = delete;
    ~File()
    {
        lc_arena_done(&arena);
    }

    Where where() const
    {
        Where out{path.c_str()};
        out.file = source.get();
        out.decode = pool.get();
        out.limit = kFooterMemory;
        return out;
    }

    void read_footer()
    {
        metadata = pq::ParquetFileReader::Open(source, reader_properties(pool.get()))->metadata();
        if (metadata->is_encryption_algorithm_set())
            fail(LC_R_PARQUET_UNSUPPORTED, "the file is encrypted");
        forget_arrow_schema();
        check_rows();
        check(pq::arrow::SchemaManifest::Make(metadata->schema(), nullptr, arrow_properties(), &manifest));
        for (size_t i = 0; i < manifest.schema_fields.size(); i++)
            columns.add(*manifest.schema_fields[i].field, static_cast<int>(i));
        has_ids = std::any_of(manifest.schema_fields.begin(), manifest.schema_fields.end(), has_field_ids);
        calendar = Calendar::of(metadata->key_value_metadata().get());
    }

  private:
    /* Arrow's writers leave their own schema in the file; what it says of types is not Parquet's and not needed. */
    void forget_arrow_schema()
    {
        auto pairs = std::const_pointer_cast<ar::KeyValueMetadata>(metadata->key_value_metadata());
        while (pairs && pairs->Contains("ARROW:schema"))
            check(pairs->Delete("ARROW:schema"));
    }

    void check_rows() const
    {
        int64_t rows = 0;
        for (int i = 0; i < metadata->num_row_groups(); i++) {
            int64_t n = metadata->RowGroup(i)->num_rows();
            if (n < 0 || __builtin_add_overflow(rows, n, &rows))
                fail(LC_R_PARQUET_BAD, "row group %d has %" PRId64 " rows", i, n);
        }
        if (rows != metadata->num_rows())
            fail(LC_R_PARQUET_BAD, "the row groups hold %" PRId64 " rows, the footer says %" PRId64, rows,
                 metadata->num_rows());
    }
};

/* The rows that are wanted: a bitmap of those, or of the others, or all. */
class Selection
{
  public:
    ~Selection()
    {
        lc_bitmap_free(owned_);
    }
    Selection() = default;
    Selection(const Selection &) = delete;
    Selection &operator=(const Selection &) = delete;

    void init(const struct lc_bitmap *include, const struct lc_bitmap *exclude, lcdc_error **err)
    {
        include_ = include;
        exclude_ = include ? nullptr : exclude;
        if (include && exclude) {
            reported(lc_bitmap_dup(include, &owned_, err));
            reported(lc_bitmap_minus(owned_, exclude, err));
            include_ = owned_;
        }
    }

    bool any(int64_t first, int64_t n) const
    {
        if (n <= 0)
            return false;
        uint64_t found;
        if (include_)
            return lc_bitmap_next(include_, static_cast<uint64_t>(first), &found) &&
                   found < static_cast<uint64_t>(first + n);
        return !exclude_ || lc_bitmap_count_range(exclude_, static_cast<uint64_t>(first), static_cast<uint64_t>(n)) <
                                static_cast<uint64_t>(n);
    }

    /* Appends at most `room` wanted positions of [first, end); returns from where to go on. */
    int64_t append(int64_t first, int64_t end, size_t room, std::vector<int64_t> &out)
    {
        int64_t n = std::min(end - first, static_cast<int64_t>(room));
        if (include_)
            return append_members(first, end, room, out);
        if (exclude_) {
            mask_.resize(static_cast<size_t>(n));
            lc_bitmap_mask(exclude_, static_cast<uint64_t>(first), static_cast<size_t>(n), mask_.data());
        }
        for (int64_t i = 0; i < n; i++)
            if (!exclude_ || !mask_[static_cast<size_t>(i)])
                out.push_back(first + i);
        return first + n;
    }

  private:
    int64_t append_members(int64_t first, int64_t end, size_t room, std::vector<int64_t> &out)
    {
        members_.resize(room);
        size_t n = lc_bitmap_read(include_, static_cast<uint64_t>(first), room, members_.data());
        for (size_t i = 0; i < n; i++) {
            if (members_[i] >= static_cast<uint64_t>(end))
                return end;
            out.push_back(static_cast<int64_t>(members_[i]));
        }
        return n < room ? end : out.back() + 1;
    }

    const struct lc_bitmap *include_ = nullptr, *exclude_ = nullptr;
    struct lc_bitmap *owned_ = nullptr;
    std::vector<uint64_t> members_;
    std::vector<uint8_t> mask_;
};

class Scan
{
  public:
    Scan(File &file, const struct lc_parquet_request &request) : file_(file), request_(request)
    {
        batch_rows_ = request.batch_rows > 0 ? request.batch_rows : kDefaultBatchRows;
    }

    void open(lcdc_error **err)
    {
        check_request();
        selection_.init(request_.include, request_.exclude, err);
        resolve(err);
        open_pools();
        for (size_t i = 0; i < request_.n_ranges; i++)
            plan_range(request_.ranges[i]);
    }

    Where where() const
    {
        Where out = file_.where();
        out.decode = decode_.get();
        out.output = output_.get();
        out.limit = limit_;
        return out;
    }

    /* False at the end. */
    bool next(struct ArrowArray *out)
    {
        if (is_broken_)
            fail(LC_R_INTERNAL, "the scan is read after it failed");
        is_broken_ = true;
        bool has_rows = find_rows();
        if (has_rows)
            check(ar::ExportArray(*ar::MakeArray(read_batch()), out));
        is_broken_ = false;
        return has_rows;
    }

    const int64_t *positions() const
    {
        return positions_.data();
    }

  private:
    void check_request() const
    {
        uint64_t last;
        if (request_.first_row < 0 || request_.first_row > file_.metadata->num_rows())
            fail(LC_R_INTERNAL, "rows from %" PRId64 " on are asked of a file of %" PRId64 " rows", request_.first_row,
                 file_.metadata->num_rows());
        if (request_.schema->type.kind != LC_TYPE_STRUCT)
            fail(LC_R_INTERNAL, "the requested schema is no struct");
        if (request_.include && lc_bitmap_max(request_.include, &last) &&
            last >= static_cast<uint64_t>(file_.metadata->num_rows()))
            fail(LC_R_ROWS_MISCOUNTED, "row %" PRIu64 " is asked of a file of %" PRId64 " rows", last,
                 file_.metadata->num_rows());
    }

    void resolve(lcdc_error **err)
    {
        Resolver resolver(request_.match, file_.has_ids, file_.metadata->schema(), file_.calendar);
        for (size_t i = 0; i < request_.n_constants; i++)
            resolver.add_constant(&request_.constants[i]);
        auto child = [&](int i) {
            const pq::arrow::SchemaField &field = file_.manifest.schema_fields[static_cast<size_t>(i)];
            return Source{field.field, &field};
        };
        type_ = arrow_type(*request_.schema, err);
        columns_ = resolver.resolve_children(*request_.schema, *type_, "", file_.columns, child, false, 0);
        nested_leaves_ = resolver.selected();
        std::set<int> nested;
        for (Node &node : columns_) {
            number_children(node, nested_leaves_);
            if (node.kind != Node::Kind::kConstant && !node.is_flat)
                nested.insert(node.at);
        }
        for (Node &node : columns_)
            node.at = static_cast<int>(std::distance(nested.begin(), nested.find(node.at)));
    }

    /* Half for the pages being decoded, or as many as there must be; half for the batch that is made of them. */
    void open_pools()
    {
        auto is_flat = [](const Node &node) { return node.is_flat; };
        int64_t leaves = static_cast<int64_t>(nested_leaves_.size()) +
                         std::count_if(columns_.begin(), columns_.end(), is_flat);
        limit_ = request_.memory_limit > 0 ? request_.memory_limit : kDefaultMemory;
        decode_.reset(new Pool(std::max(limit_ / 2, kMemoryPerLeaf * leaves)));
        output_.reset(new Pool(limit_ / 2));
        int64_t window = file_.source->is_remote(file_.path) ? kRemoteWindow : kLocalWindow;
        window = std::min(window, std::max(kLeastWindow, limit_ / 8 / std::max<int64_t>(leaves, 1)));
        source_ = PageSource{file_.source, file_.metadata, reader_properties(decode_.get()), window, decode_.get()};
    }

    const Node *find_leaf(const std::vector<Node> &nodes, const struct lc_field *field) const
    {
        for (const Node &node : nodes) {
            if (node.field == field)
                return &node;
            if (const Node *found = node.kind == Node::Kind::kStruct ? find_leaf(node.children, field) : nullptr)
                return found;
        }
        return nullptr;
    }

    /* Ranges on what is repeated, or not asked for, prune nothing. */
    void plan_range(const struct lc_range &range)
    {
        const Node *node = find_leaf(columns_, range.field);
        if (!node)
            return;
        if (node->kind == Node::Kind::kConstant)
            is_empty_ = is_empty_ ||
                        (is_top_level(node) && constant_excluded(range, *node, file_.metadata->num_rows()));
        else if (node->kind == Node::Kind::kLeaf && node->oldest == std::numeric_limits<int64_t>::min())
            ranges_.emplace_back(&range, node);
    }

    bool is_top_level(const Node *node) const
    {
        return node >= columns_.data() && node < columns_.data() + columns_.size();
    }

    /* ---- which rows ---- */

    /* Fills positions_ with the next batch's rows, opening and closing row groups on the way. */
    bool find_rows()
    {
        positions_.clear();
        while (!is_empty_) {
            while (is_open_ && positions_.empty() && window_ < windows_.size())
                take_rows();
            if (!positions_.empty())
                return true;
            close_row_group();
            if (!open_row_group())
                break;
        }
        return false;
    }

    void take_rows()
    {
        const Run &window = windows_[window_];
        cursor_ = std::max(cursor_, window.first);
        cursor_ = selection_.append(cursor_, window.end(), static_cast<size_t>(group_batch_rows_), positions_);
        if (cursor_ >= window.end())
            window_++;
    }

    bool open_row_group()
    {
        while (group_ + 1 < file_.metadata->num_row_groups()) {
            group_++;
            first_row_ = next_row_;
            metadata_ = file_.metadata->RowGroup(group_);
            next_row_ += metadata_->num_rows();
            Run within = stretch_of_group();
            if (!selection_.any(first_row_ + within.first, within.n))
                continue;
            file_.source->note(LC_NOTE_ROW_GROUPS, 1);
            if (is_excluded()) {
                file_.source->note(LC_NOTE_ROW_GROUPS_PRUNED, 1);
                continue;
            }
            choose_windows();
            if (!any_wanted(first_row_, metadata_->num_rows()))
                continue;
            announce();
            start_batches();
            open_columns();
            is_open_ = true;
            return true;
        }
        return false;
    }

    /* What the group has of the stretch that is asked for, by rows of the group. */
    Run stretch_of_group() const
    {
        int64_t n = metadata_->num_rows();
        if (request_.n_rows <= 0)
            return Run{0, n};
        int64_t first = std::clamp(request_.first_row - first_row_, INT64_C(0), n);
        return Run{first, std::clamp(request_.first_row + request_.n_rows - first_row_, first, n) - first};
    }

    bool is_excluded() const
    {
        return std::any_of(ranges_.begin(), ranges_.end(), [&](const auto &range) {
            return row_group_excluded(*range.first, *range.second, *metadata_);
        });
    }

    /* Parts of the row group, as absolute rows, that the page index does not rule out. */
    void choose_windows()
    {
        windows_ = {stretch_of_group()};
        page_starts_.clear();
        window_ = 0;
        cursor_ = first_row_;
        std::shared_ptr<pq::PageIndexReader> reader;
        std::shared_ptr<pq::RowGroupPageIndexReader> index;
        for (const auto &[range, node] : ranges_) {
            if (!node->is_flat)
                continue;
            if (!reader) {
                reader = pq::PageIndexReader::Make(file_.source.get(), file_.metadata, source_.properties);
                index = reader->RowGroup(group_);
            }
            PageChoice choice = index ? choose_pages(*range, *node, *index, *metadata_) : PageChoice{};
            if (choice.starts.empty())
                continue;
            file_.source->note(LC_NOTE_PAGES_PRUNED, static_cast<int64_t>(choice.starts.size() - choice.wanted.size()));
            windows_ = intersection(windows_, choice.wanted);
            page_starts_[node] = std::move(choice.starts);
        }
        for (Run &window : windows_)
            window.first += first_row_;
    }

    /* Whether any of n rows from the absolute row `first` on is wanted. */
    bool any_wanted(int64_t first, int64_t n) const
    {
        auto window = std::upper_bound(windows_.begin(), windows_.end(), first,
                                       [](int64_t row, const Run &run) { return row < run.end(); });
        for (; window != windows_.end() && window->first < first + n; ++window) {
            int64_t from = std::max(first, window->first);
            if (selection_.any(from, std::min(first + n, window->end()) - from))
                return true;
        }
        return false;
    }

    /* On a remote store the column chunks of a row group are asked for together, and those of the next one with them. A
       group of which little is wanted is read where it is wanted. */
    void announce()
    {
        if (!file_.source->is_remote(file_.path))
            return;
        for (int group = std::max(group_, announced_ + 1); group <= group_ + 1; group++) {
            announced_ = group;
            if (group < file_.metadata->num_row_groups() && is_mostly_wanted(group))
                file_.source->want(file_.path, chunks_of(group));
        }
    }

    /* Rows that lie scattered over all of a group take as many bytes as all of its rows. */
    bool is_mostly_wanted(int group) const
    {
        if (group == group_ + 1)
            return ranges_.empty() && request_.include == nullptr && request_.n_rows <= 0;
        int64_t rows = 0, bytes = 0;
        for (const struct lc_span &chunk : chunks_of(group))
            bytes += chunk.n;
        for (const Run &window : windows_)
            rows += request_.include
                        ? static_cast<int64_t>(lc_bitmap_count_range(
                              request_.include, static_cast<uint64_t>(window.first), static_cast<uint64_t>(window.n)))
                        : window.n;
        return rows >= metadata_->num_rows() / 2 || rows >= bytes / kScattered;
    }

    std::vector<struct lc_span> chunks_of(int group) const
    {
        std::vector<struct lc_span> spans;
        std::unique_ptr<pq::RowGroupMetaData> metadata = file_.metadata->RowGroup(group);
        auto add = [&](int column) {
            std::unique_ptr<pq::ColumnChunkMetaData> chunk = metadata->ColumnChunk(column);
            int64_t start = chunk->data_page_offset();
            if (chunk->has_dictionary_page() && chunk->dictionary_page_offset() > 0)
                start = std::min(start, chunk->dictionary_page_offset());
            spans.push_back({start, chunk->total_compressed_size()});
        };
        for (const Node &node : columns_)
            if (node.is_flat)
                add(node.column);
        for (int column : nested_leaves_)
            add(column);
        return spans;
    }

    /* Rows so wide that a batch would pass its memory are taken fewer at a time. */
    void start_batches()
    {
        double bytes = 0;
        auto add = [&](int column) {
            bytes += static_cast<double>(metadata_->ColumnChunk(column)->total_uncompressed_size());
        };
        for (const Node &node : columns_)
            if (node.is_flat)
                add(node.column);
        for (int column : nested_leaves_)
            add(column);
        double per_row = bytes / static_cast<double>(std::max<int64_t>(metadata_->num_rows(), 1));
        double fit = static_cast<double>(limit_) / 4 / std::max(per_row, 1.0);
        group_batch_rows_ = std::clamp(static_cast<int64_t>(std::min(fit, 1e9)), INT64_C(1), batch_rows_);
    }

    /* ---- their values ---- */

    void open_columns()
    {
        flat_.clear();
        for (const Node &node : columns_) {
            flat_.emplace_back();
            if (!node.is_flat)
                continue;
            auto wanted = [this](int64_t first, int64_t n) { return any_wanted(first_row_ + first, n); };
            flat_.back() = open_flat(source_, *metadata_, node, request_.keeps_dictionaries, wanted, output_.get());
            auto starts = page_starts_.find(&node);
            if (starts != page_starts_.end())
                flat_.back()->expect_pages(starts->second);
        }
        if (nested_leaves_.empty())
            return;
        if (!nested_)
            nested_ = std::make_unique<NestedColumns>(source_, nested_leaves_, output_.get());
        nested_->open_row_group(group_);
    }

    void close_row_group()
    {
        if (!is_open_)
            return;
        is_open_ = false;
        output_->start_over();
        for (const auto &column : flat_)
            if (column)
                column->finish();
        if (!nested_leaves_.empty())
            nested_->finish(group_batch_rows_);
        flat_.clear();
    }

    Data read_batch()
    {
        for (;;) {
            output_->start_over();
            try {
                return assemble();
            } catch (...) {
                if (positions_.size() <= 1 || !has_outgrown(std::current_exception()))
                    throw;
            }
            take_fewer();
        }
    }

    bool has_outgrown(const std::exception_ptr &thrown) const
    {
        try {
            std::rethrow_exception(thrown);
        } catch (const BatchTooLarge &) {
            return true;
        } catch (...) {
            return output_->exceeded();
        }
    }

    /* The batch did not fit: its first quarter again, from the start of the row group. */
    void take_fewer()
    {
        group_batch_rows_ = static_cast<int64_t>(positions_.size() + 3) / 4;
        positions_.resize(static_cast<size_t>(group_batch_rows_));
        cursor_ = positions_.back() + 1;
        window_ = static_cast<size_t>(std::upper_bound(windows_.begin(), windows_.end(), cursor_ - 1,
                                                       [](int64_t row, const Run &run) { return row < run.end(); }) -
                                      windows_.begin());
        output_->start_over();
        open_columns();
    }

    std::vector<Run> runs() const
    {
        std::vector<Run> out;
        for (int64_t position : positions_) {
            int64_t row = position - first_row_;
            if (!out.empty() && out.back().end() == row)
                out.back().n++;
            else
                out.push_back(Run{row, 1});
        }
        return out;
    }

    Data assemble()
    {
        const int64_t n = static_cast<int64_t>(positions_.size());
        const std::vector<Run> wanted = runs();
        ar::ArrayVector nested;
        if (!nested_leaves_.empty())
            nested = nested_->read(wanted, group_batch_rows_);
        std::vector<Data> children;
        for (size_t i = 0; i < columns_.size(); i++)
            children.push_back(column(columns_[i], flat_[i].get(), nested, wanted, n));
        return ar::ArrayData::Make(type_, n, {nullptr}, std::move(children), 0);
    }

    Data column(Node &node, FlatColumn *flat, const ar::ArrayVector &nested, const std::vector<Run> &wanted, int64_t n)
    {
        if (node.kind == Node::Kind::kConstant)
            return constant(node, n, output_.get());
        if (flat)
            return converted(node, flat->read(wanted, n));
        Data data = convert(node, nested[static_cast<size_t>(node.at)]->data(), output_.get());
        if (data->length != n)
            fail(LC_R_PARQUET_BAD, "column %s has %" PRId64 " rows where %" PRId64 " were read", node.where.c_str(),
                 data->length, n);
        check(ar::MakeArray(data)->ValidateFull());
        return data;
    }

    /* Of a dictionary array the dictionary is converted. */
    Data converted(Node &node, const Data &in)
    {
        if (!in->dictionary)
            return convert(node, in, output_.get());
        Data out = in->Copy();
        Data texts = convert(node, std::make_shared<ar::ArrayData>(*in->dictionary), output_.get());
        out->type = ar::dictionary(ar::int32(), texts->type);
        out->dictionary = std::move(texts);
        return out;
    }

    File &file_;
    const struct lc_parquet_request request_;
    PoolOwner decode_, output_;
    int64_t limit_ = 0, batch_rows_;
    PageSource source_;
    Type type_;
    std::vector<Node> columns_;
    std::set<int> nested_leaves_;
    std::vector<std::pair<const struct lc_range *, const Node *>> ranges_;
    Selection selection_;
    bool is_empty_ = false, is_broken_ = false;

    /* the row group */
    bool is_open_ = false;
    int group_ = -1, announced_ = -1;
    int64_t first_row_ = 0, next_row_ = 0, cursor_ = 0, group_batch_rows_ = 1;
    std::unique_ptr<pq::RowGroupMetaData> metadata_;
    std::vector<Run> windows_;
    size_t window_ = 0;
    std::map<const Node *, std::vector<int64_t>> page_starts_;
    std::vector<std::unique_ptr<FlatColumn>> flat_;
    std::unique_ptr<NestedColumns> nested_;
    std::vector<int64_t> positions_;
};

/* Makes an imported, borrowed array of what stays the caller's. */
struct ArrowArray borrowed(const struct ArrowArray &array)
{
    struct ArrowArray out = array;
    out.release = [](struct ArrowArray *self) { self->release = nullptr; };
    return out;
}

std::shared_ptr<ar::Schema> import_schema(const struct ArrowSchema *schema, lcdc_error **err)
{
    struct ArrowSchema copy = {};
    reported(lc_schema_copy(schema, &copy, err));
    return take(ar::ImportSchema(&copy));
}

/* Importing drops the buffers of what is empty, but not its offset into them, and writers trip over that. */
void forget_empty_offsets(ar::ArrayData &data)
{
    if (data.length == 0)
        data.offset = 0;
    for (const Data &child : data.child_data)
        forget_empty_offsets(*child);
}

/* A borrowed batch, whose rows are never null; where it starts becomes where its columns start. */
std::shared_ptr<ar::RecordBatch> import_batch(const struct ArrowArray *batch, const std::shared_ptr<ar::Schema> &schema)
{
    struct ArrowArray view = borrowed(*batch);
    std::shared_ptr<ar::Array> rows = take(ar::ImportArray(&view, ar::struct_(schema->fields())));
    forget_empty_offsets(*rows->data());
    std::vector<Data> columns;
    for (const Data &column : rows->data()->child_data)
        columns.push_back(column->Slice(rows->data()->offset, rows->length()));
    return ar::RecordBatch::Make(schema, rows->length(), std::move(columns));
}

} /* namespace */

/* ======== Parquet reader ======== */

struct lc_parquet : File {
};

struct lc_parquet_scan : Scan {
    using Scan::Scan;
};

extern "C" lcdc_status lc_parquet_open(struct lc_storage *storage, const char *path, int64_t size,
                                       struct lc_parquet **out, lcdc_error **err)
{
    std::unique_ptr<struct lc_parquet> made;
    lcdc_status status = guard(err, Where{path}, [&] {
        struct lc_file *file = nullptr;
        made = std::make_unique<struct lc_parquet>();
        made->path = path;
        reported(lc_storage_open_sized(storage, path, size, &file, err));
        std::unique_ptr<struct lc_file, decltype(&lc_file_close)> held(file, lc_file_close);
        made->source = std::make_shared<StorageFile>(file, made->pool.get());
        (void)held.release();
    });
    if (status == LCDC_OK)
        status = guard(err, made->where(), [&] { made->read_footer(); });
    if (status == LCDC_OK)
        *out = made.release();
    return status;
}

extern "C" void lc_parquet_close(struct lc_parquet *file)
{
    delete file;
}

extern "C" int64_t lc_parquet_rows(const struct lc_parquet *file)
{
    return file->metadata->num_rows();
}

extern "C" bool lc_parquet_has(const struct lc_parquet *file, const struct lc_field *field, enum lc_match match)
{
    bool has = false;
    (void)guard(nullptr, file->where(),
                [&] { has = file->columns.find(*field, match, file->has_ids) != Siblings::kNone; });
    return has;
}

extern "C" int64_t lc_parquet_bytes(const struct lc_parquet *file, const struct lc_field *field, enum lc_match match)
{
    double bytes = 0;
    (void)guard(nullptr, file->where(), [&] {
        int at = file->columns.find(*field, match, file->has_ids);
        for (int group = 0; at >= 0 && group < file->metadata->num_row_groups(); group++)
            bytes += packed_bytes(file->manifest.schema_fields[static_cast<size_t>(at)],
                                  *file->metadata->RowGroup(group));
    });
    return static_cast<int64_t>(std::clamp(bytes, 0.0, 1e15));
}

extern "C" lcdc_status lc_parquet_schema(struct lc_parquet *file, const struct lc_field **out, lcdc_error **err)
{
    lcdc_status status = guard(err, file->where(), [&] {
        if (file->schema)
            return;
        ar::FieldVector fields;
        for (const pq::arrow::SchemaField &column : file->manifest.schema_fields)
            fields.push_back(normal_field(column.field, true, 0));
        auto *root = static_cast<struct lc_field *>(lc_arena_alloc(&file->arena, sizeof(struct lc_field)));
        if (!root)
            throw std::bad_alloc();
        struct ArrowSchema schema = {};
        check(ar::ExportSchema(*ar::schema(fields), &schema));
        lcdc_status read = lc_field_from_schema(&schema, &file->arena, root, err);
        lc_schema_release(&schema);
        if (read != LCDC_OK)
            lc_error_prefix(err, "%s", file->path.c_str());
        reported(read);
        file->schema = root;
    });
    if (status == LCDC_OK)
        *out = file->schema;
    return status;
}

extern "C" lcdc_status lc_parquet_scan_open(struct lc_parquet *file, const struct lc_parquet_request *request,
                                            struct lc_parquet_scan **out, lcdc_error **err)
{
    std::unique_ptr<struct lc_parquet_scan> made;
    lcdc_status status = guard(err, file->where(), [&] {
        made = std::make_unique<struct lc_parquet_scan>(*file, *request);
        made->open(err);
    });
    if (status == LCDC_OK)
        *out = made.release();
    return status;
}

extern "C" lcdc_status lc_parquet_scan_next(struct lc_parquet_scan *scan, struct ArrowArray *out,
                                            const int64_t **positions, lcdc_error **err)
{
    struct ArrowArray batch = {};
    lcdc_status status = guard(err, scan->where(), [&] { scan->next(&batch); });
    if (status == LCDC_OK) {
        *out = batch;
        if (positions)
            *positions = scan->positions();
    }
    return status;
}

extern "C" void lc_parquet_scan_close(struct lc_parquet_scan *scan)
{
    delete scan;
}

/* ======== writers ======== */

namespace
{

/* What both writers are; Inner has Arrow's WriteRecordBatch() and Close(). */
template <class Inner> struct Writer {
    const char *what;
    CallbackStream stream;
    std::shared_ptr<ar::Schema> schema;
    std::shared_ptr<Inner> inner;

    Writer(const char *name, lc_write_fn write, void *context) : what(name), stream(write, context)
    {
    }
    Writer(const Writer &) = delete;
    Writer &operator=(const Writer &) = delete;
    ~Writer()
    {
        stream.detach();
    }

    /* An output that refused the bytes is told by its errno. */
    template <class Body> lcdc_status run(lcdc_error **err, Body &&body)
    {
        lcdc_status status = guard(err, Where{what, LC_R_INTERNAL, LC_R_TYPE_UNSUPPORTED}, body);
        if (status != LCDC_OK && stream.error())
            return lc_fail(err, LC_R_IO_FAILED, "%s: the output cannot be written: %s", what, strerror(stream.error()));
        return status;
    }
};

template <class W, class Make>
lcdc_status open_writer(const char *what, const struct ArrowSchema *schema, lc_write_fn write, void *context,
                        Make &&make, W **out, lcdc_error **err)
{
    std::unique_ptr<W> made;
    lcdc_status status = guard(err, Where{what}, [&] { made = std::make_unique<W>(what, write, context); });
    if (status == LCDC_OK)
        status = made->run(err, [&] {
            made->schema = import_schema(schema, err);
            /* The writer lives no longer than the stream beside it. */
            made->inner = take(make(std::shared_ptr<ar::io::OutputStream>(&made->stream, [](auto *) {}), made->schema));
        });
    if (status == LCDC_OK)
        *out = made.release();
    return status;
}

template <class W> lcdc_status write_batch(W *writer, const struct ArrowArray *batch, lcdc_error **err)
{
    return writer->run(err, [&] { check(writer->inner->WriteRecordBatch(*import_batch(batch, writer->schema))); });
}

template <class W> lcdc_status finish_writer(W *writer, lcdc_error **err)
{
    return writer->run(err, [&] { check(writer->inner->Close()); });
}

/* Zstandard, checksums and a page index: what this reader makes most of. */
std::shared_ptr<pq::WriterProperties> parquet_properties()
{
    return pq::WriterProperties::Builder()
        .compression(ar::Compression::ZSTD)
        ->enable_page_checksum()
        ->enable_write_page_index()
        ->max_row_group_length(256 * 1024)
        ->memory_pool(base_pool())
        ->build();
}

ar::ipc::IpcWriteOptions ipc_options()
{
    ar::ipc::IpcWriteOptions options = ar::ipc::IpcWriteOptions::Defaults();
    options.use_threads = false;
    options.memory_pool = base_pool();
    return options;
}

} /* namespace */

struct lc_parquet_writer : Writer<pq::arrow::FileWriter> {
    using Writer::Writer;
};

struct lc_ipc_writer : Writer<ar::ipc::RecordBatchWriter> {
    using Writer::Writer;
};

extern "C" lcdc_status lc_parquet_writer_open(const struct ArrowSchema *schema, lc_write_fn write, void *context,
                                              struct lc_parquet_writer **out, lcdc_error **err)
{
    auto make = [](const std::shared_ptr<ar::io::OutputStream> &stream, const std::shared_ptr<ar::Schema> &columns) {
        return pq::arrow::FileWriter::Open(*columns, base_pool(), stream, parquet_properties());
    };
    return open_writer("parquet writer", schema, write, context, make, out, err);
}

extern "C" lcdc_status lc_parquet_writer_batch(struct lc_parquet_writer *writer, const struct ArrowArray *batch,
                                               lcdc_error **err)
{
    return write_batch(writer, batch, err);
}

extern "C" lcdc_status lc_parquet_writer_finish(struct lc_parquet_writer *writer, lcdc_error **err)
{
    return finish_writer(writer, err);
}

extern "C" void lc_parquet_writer_close(struct lc_parquet_writer *writer)
{
    delete writer;
}

extern "C" lcdc_status lc_ipc_writer_open(const struct ArrowSchema *schema, lc_write_fn write, void *context,
                                          struct lc_ipc_writer **out, lcdc_error **err)
{
    auto make = [](const std::shared_ptr<ar::io::OutputStream> &stream, const std::shared_ptr<ar::Schema> &columns) {
        return ar::ipc::MakeStreamWriter(stream, columns, ipc_options());
    };
    return open_writer("arrow ipc", schema, write, context, make, out, err);
}

extern "C" lcdc_status lc_ipc_writer_batch(struct lc_ipc_writer *writer, const struct ArrowArray *batch,
                                           lcdc_error **err)
{
    return write_batch(writer, batch, err);
}

extern "C" lcdc_status lc_ipc_writer_finish(struct lc_ipc_writer *writer, lcdc_error **err)
{
    return finish_writer(writer, err);
}

extern "C" void lc_ipc_writer_close(struct lc_ipc_writer *writer)
{
    delete writer;
}

/* ======== IPC reader, casts ======== */

namespace
{

std::shared_ptr<ar::RecordBatch> normal_batch(const ar::RecordBatch &batch, const std::shared_ptr<ar::Schema> &schema,
                                              Pool *pool)
{
    check(batch.ValidateFull());
    ar::compute::ExecContext context(pool);
    context.set_use_threads(false);
    ar::ArrayVector columns;
    for (int i = 0; i < batch.num_columns(); i++) {
        const Type &type = schema->field(i)->type();
        std::shared_ptr<ar::Array> column = batch.column(i);
        if (!column->type()->Equals(*type, false))
            column = take(ar::compute::Cast(*column, type, ar::compute::CastOptions::Safe(), &context));
        columns.push_back(column);
    }
    auto out = ar::RecordBatch::Make(schema, batch.num_rows(), std::move(columns));
    check(out->ValidateFull());
    return out;
}

void visit_stream(ar::ipc::RecordBatchStreamReader &reader, Pool *pool, lc_ipc_visit visit, void *context,
                  lcdc_error **err)
{
    ar::FieldVector fields;
    for (const auto &field : reader.schema()->fields())
        fields.push_back(normal_field(field, false, 0));
    auto schema = ar::schema(fields);
    struct ArrowSchema c_schema = {};
    check(ar::ExportSchema(*schema, &c_schema));
    std::unique_ptr<struct ArrowSchema, decltype(&lc_schema_release)> held(&c_schema, lc_schema_release);
    reported(visit(context, &c_schema, nullptr, err));
    for (;;) {
        std::shared_ptr<ar::RecordBatch> batch;
        check(reader.ReadNext(&batch));
        if (!batch)
            return;
        struct ArrowArray c_batch = {};
        check(ar::ExportRecordBatch(*normal_batch(*batch, schema, pool), &c_batch));
        lcdc_status status = visit(context, &c_schema, &c_batch, err);
        lc_array_release(&c_batch);
        reported(status);
    }
}

/* Bytes of lc_alloc that go with their last user. */
class TakenBytes final : public ar::Buffer
{
  public:
    TakenBytes(char *bytes, size_t n)
        : ar::Buffer(reinterpret_cast<const uint8_t *>(bytes), static_cast<int64_t>(n)), bytes_(bytes)
    {
    }
    TakenBytes(const TakenBytes &) = delete;
    TakenBytes &operator=(const TakenBytes &) = delete;
    ~TakenBytes() override
    {
        lc_free(bytes_);
    }

  private:
    char *bytes_;
};

/* Batches point into the stream and may outlive the caller's bytes, so `bytes` makes a buffer that lives as long. */
lcdc_status read_ipc(size_t n, const std::function<std::shared_ptr<ar::Buffer>(Pool *)> &bytes, lc_ipc_visit visit,
                     void *context, lcdc_error **err)
{
    Where where{"arrow ipc stream", LC_R_ARROW_BAD, LC_R_TYPE_UNSUPPORTED};
    PoolOwner pool;
    lcdc_status status = guard(err, where, [&] { pool.reset(new Pool(kIpcMemory + static_cast<int64_t>(n))); });
    if (status != LCDC_OK)
        return status;
    where.decode = pool.get();
    where.limit = kIpcMemory;
    return guard(err, where, [&] {
        ar::ipc::IpcReadOptions options = ar::ipc::IpcReadOptions::Defaults();
        options.memory_pool = pool.get();
        options.use_threads = false;
        options.ensure_alignment = ar::ipc::Alignment::kDataTypeSpecificAlignment;
        auto reader = take(
            ar::ipc::RecordBatchStreamReader::Open(std::make_shared<ar::io::BufferReader>(bytes(pool.get())), options));
        visit_stream(*reader, pool.get(), visit, context, err);
    });
}

} /* namespace */

extern "C" lcdc_status lc_ipc_read(const void *bytes, size_t n, lc_ipc_visit visit, void *context, lcdc_error **err)
{
    return read_ipc(
        n,
        [&](Pool *pool) {
            std::shared_ptr<ar::Buffer> copy = allocate(static_cast<int64_t>(n), pool);
            if (n > 0)
                memcpy(copy->mutable_data(), bytes, n);
            return copy;
        },
        visit, context, err);
}

extern "C" lcdc_status lc_ipc_read_taken(char *take_bytes, size_t n, lc_ipc_visit visit, void *context,
                                         lcdc_error **err)
{
    char *bytes = take_bytes; /* until a buffer has them */
    lcdc_status status = read_ipc(
        n,
        [&](Pool *) {
            auto taken = std::make_shared<TakenBytes>(bytes, n);
            bytes = nullptr;
            return std::static_pointer_cast<ar::Buffer>(taken);
        },
        visit, context, err);
    lc_free(bytes);
    return status;
}

extern "C" lcdc_status lc_arrow_cast(const struct lc_field *from, const struct ArrowArray *array,
                                     const struct lc_field *to, struct ArrowArray *out, lcdc_error **err)
{
    struct ArrowArray made = {};
    Where where{"arrow cast", LC_R_ARROW_BAD, LC_R_TYPE_MISMATCH};
    lcdc_status status = guard(err, where, [&] {
        Resolver resolver(LC_MATCH_PHYSICAL_NAME, false, nullptr, Calendar{});
        Source source{ar::field(from->name ? from->name : "", arrow_type(*from, err)), nullptr};
        Node node = resolver.resolve(*to, arrow_type(*to, err), &source, to->name ? to->name : "", 0);
        struct ArrowArray view = borrowed(*array);
        std::shared_ptr<ar::Array> in = take(ar::ImportArray(&view, source.field->type()));
        /* The result owns its bytes, also where the conversion keeps them. */
        in = take(in->CopyTo(ar::default_cpu_memory_manager()));
        check(ar::ExportArray(*ar::MakeArray(convert(node, in->data(), base_pool())), &made));
    });
    if (status == LCDC_OK)
        *out = made;
    return status;
}

/* ======== storage ======== */

namespace
{

/* A file system and the part of its paths that stands for scheme://authority. */
struct Root {
    std::shared_ptr<ar::fs::FileSystem> system;
    std::string prefix;
};

struct Place {
    std::shared_ptr<ar::fs::FileSystem> system;
    std::string path;
};

/* S3 lives in a library of its own beside libarrow, loaded when the first s3: location is seen. */
ar::Status load_s3()
{
    Dl_info info;
    if (!dladdr(&ar::GetBuildInfo(), &info) || !info.dli_fname)
        return ar::Status::Invalid("libarrow cannot be located");
    std::string name = info.dli_fname;
    size_t at = name.rfind("libarrow.so");
    if (at == std::string::npos)
        return ar::Status::Invalid("libarrow has an unknown name");
    return ar::fs::LoadFileSystemFactories(name.replace(at, strlen("libarrow.so"), "libarrow_s3.so").c_str());
}

/* Once in a process, whoever comes first; the SDK's statics exist when this returns. */
ar::Result<std::shared_ptr<ar::fs::FileSystem>> connect_s3(const std::string &base, std::string *prefix)
{
    static std::mutex mutex;
    static bool is_loaded = false;
    std::lock_guard<std::mutex> lock(mutex);
    ar::Result<std::shared_ptr<ar::fs::FileSystem>> system = ar::fs::FileSystemFromUri(base, prefix);
    if (!system.ok() && !is_loaded) {
        ARROW_RETURN_NOT_OK(load_s3());
        system = ar::fs::FileSystemFromUri(base, prefix);
    }
    /* Registered after those statics, so that the SDK's threads end before they go. */
    if (!is_loaded)
        is_loaded = std::atexit(ar::fs::EnsureFinalized) == 0;
    return system;
}

class ArrowStorage : public lc_storage
{
  public:
    explicit ArrowStorage(const struct lc_storage_ops *table) : lc_storage{table}
    {
    }

    /* Where a location is; the location's own error when it is none. */
    Place locate(const char *location, lcdc_error **err)
    {
        char *text = nullptr;
        reported(lc_location_normalise(location, &text, err));
        std::unique_ptr<char, decltype(&lc_free)> held(text, [](void *p) { lc_free(p); });
        if (text[0] == '/')
            return Place{root("").system, text};
        const char *authority = strstr(text, "://");
        if (!authority)
            fail(LC_R_URL, "a location has a scheme but no host or bucket");
        const char *rest = strchr(authority + 3, '/');
        std::string base(text, rest ? static_cast<size_t>(rest - text) : strlen(text));
        Root found = root(base);
        return Place{found.system, rest ? found.prefix + rest : found.prefix};
    }

  private:
    Root root(const std::string &base)
    {
        std::lock_guard<std::mutex> lock(mutex_);
        auto known = roots_.find(base);
        if (known != roots_.end())
            return known->second;
        Root made;
        if (base.empty())
            made.system = std::make_shared<ar::fs::LocalFileSystem>();
        else
            made.system = connect(base, &made.prefix);
        return roots_[base] = made;
    }

    static std::shared_ptr<ar::fs::FileSystem> connect(const std::string &base, std::string *prefix)
    {
        static const char *const schemes[] = {"s3://", "gs://", "gcs://", "abfs://", "abfss://"};
        if (std::none_of(std::begin(schemes), std::end(schemes),
                         [&](const char *scheme) { return base.compare(0, strlen(scheme), scheme) == 0; }))
            fail(LC_R_URL, "locations of this scheme are not read; local paths, file:, s3:, gs:, abfs: and abfss: are");
        if (base.compare(0, strlen("s3://"), "s3://") == 0)
            return take(connect_s3(base, prefix));
        /* Google's client would try for a quarter of an hour. */
        bool is_google = base[0] == 'g';
        return take(ar::fs::FileSystemFromUri(is_google ? base + "?retry_limit_seconds=30" : base, prefix));
    }

    std::mutex mutex_;
    std::map<std::string, Root> roots_;
};

struct ArrowFile : lc_file {
    std::shared_ptr<ar::io::RandomAccessFile> file;
    std::string path;
    int64_t size = 0;
};

Where where_of(const char *location)
{
    return Where{location, LC_R_IO_FAILED, LC_R_URL};
}

void must_exist(const Place &place)
{
    if (take(place.system->GetFileInfo(place.path)).type() == ar::fs::FileType::NotFound)
        fail(LC_R_FILE_MISSING, "there is no such file or folder");
}

struct lc_file_info info_of(const ar::fs::FileInfo &info)
{
    struct lc_file_info out = {};
    out.is_directory = info.IsDirectory();
    out.size = info.IsFile() ? info.size() : -1;
    out.mtime_ms = INT64_MIN;
    if (info.mtime() != ar::fs::kNoTime)
        out.mtime_ms = std::chrono::floor<std::chrono::milliseconds>(info.mtime().time_since_epoch()).count();
    return out;
}

void fill_listing(const ar::fs::FileInfoVector &infos, struct lc_listing *out)
{
    out->items = static_cast<struct lc_file_info *>(lc_calloc(infos.size(), sizeof(struct lc_file_info)));
    if (!out->items)
        throw std::bad_alloc();
    for (const ar::fs::FileInfo &info : infos) {
        struct lc_file_info item = info_of(info);
        item.name = lc_strdup(info.base_name().c_str());
        if (!item.name)
            throw std::bad_alloc();
        out->items[out->n++] = item;
    }
}

lcdc_status arrow_list(struct lc_storage *self, const char *folder, struct lc_listing *out, lcdc_error **err)
{
    struct lc_listing made = {};
    lcdc_status status = guard(err, where_of(folder), [&] {
        Place place = static_cast<ArrowStorage *>(self)->locate(folder, err);
        ar::fs::FileSelector selector;
        selector.base_dir = place.path;
        selector.allow_not_found = true;
        ar::fs::FileInfoVector infos = take(place.system->GetFileInfo(selector));
        if (infos.empty())
            must_exist(place);
        fill_listing(infos, &made);
    });
    if (status == LCDC_OK)
        *out = made;
    else
        lc_listing_done(&made);
    return status;
}

lcdc_status arrow_stat(struct lc_storage *self, const char *path, struct lc_file_info *out, lcdc_error **err)
{
    return guard(err, where_of(path), [&] {
        Place place = static_cast<ArrowStorage *>(self)->locate(path, err);
        ar::fs::FileInfo info = take(place.system->GetFileInfo(place.path));
        if (info.type() == ar::fs::FileType::NotFound)
            fail(LC_R_FILE_MISSING, "there is no such file or folder");
        *out = info_of(info);
    });
}

lcdc_status arrow_open(struct lc_storage *self, const char *path, struct lc_file **out, lcdc_error **err)
{
    return guard(err, where_of(path), [&] {
        Place place = static_cast<ArrowStorage *>(self)->locate(path, err);
        auto made = std::make_unique<ArrowFile>();
        ar::Result<std::shared_ptr<ar::io::RandomAccessFile>> file = place.system->OpenInputFile(place.path);
        if (!file.ok())
            must_exist(place);
        made->storage = self;
        made->path = path;
        made->file = take(std::move(file));
        made->size = take(made->file->GetSize());
        *out = made.release();
    });
}

/* What a store is told of a file it need not be asked. */
lcdc_status arrow_open_sized(struct lc_storage *self, const char *path, int64_t size, struct lc_file **out,
                             lcdc_error **err)
{
    return guard(err, where_of(path), [&] {
        Place place = static_cast<ArrowStorage *>(self)->locate(path, err);
        auto made = std::make_unique<ArrowFile>();
        ar::fs::FileInfo info(place.path, ar::fs::FileType::File);
        info.set_size(size);
        ar::Result<std::shared_ptr<ar::io::RandomAccessFile>> file = place.system->OpenInputFile(info);
        if (!file.ok())
            must_exist(place);
        made->storage = self;
        made->path = path;
        made->file = take(std::move(file));
        made->size = take(made->file->GetSize());
        *out = made.release();
    });
}

int64_t arrow_size(struct lc_file *file)
{
    return static_cast<ArrowFile *>(file)->size;
}

lcdc_status arrow_read_at(struct lc_file *file, int64_t offset, int64_t n, void *out, lcdc_error **err)
{
    auto *self = static_cast<ArrowFile *>(file);
    return guard(err, where_of(self->path.c_str()), [&] {
        int64_t got = take(self->file->ReadAt(offset, n, out));
        if (got != n)
            fail(LC_R_IO_FAILED, "%" PRId64 " of %" PRId64 " bytes came from %" PRId64, got, n, offset);
    });
}

void arrow_close(struct lc_file *file)
{
    delete static_cast<ArrowFile *>(file);
}

void arrow_release(struct lc_storage *self)
{
    delete static_cast<ArrowStorage *>(self);
}

const struct lc_storage_ops arrow_ops = {
    .name = "arrow",
    .list = arrow_list,
    .stat = arrow_stat,
    .open = arrow_open,
    .size = arrow_size,
    .read_at = arrow_read_at,
    .close = arrow_close,
    .release = arrow_release,
    .open_sized = arrow_open_sized,
    .is_remote = nullptr,
    .want = nullptr,
    .forget = nullptr,
    .note = nullptr,
};

} /* namespace */

extern "C" lcdc_status lc_storage_arrow(struct lc_storage **out, lcdc_error **err)
{
    return guard(err, Where{"storage"}, [&] { *out = new ArrowStorage(&arrow_ops); });
}
