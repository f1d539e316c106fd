// Reads tensors from mapped model files into tensors of any layout.
#include "nn/files/tensor_source.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <optional>
#include <type_traits>
#include <utility>

#include "nn/files/safetensors_source.h"
#include "tensor/base/files/gguf.h"
#include "tensor/base/files/mapped_file.h"
#include "tensor/base/parallel.h"
#include "tensor/base/text.h"

namespace pg {
namespace {

// Chunks of elements: multiples of every type's block.
constexpr int64_t kGrain = 1 << 16;  // per task of the pool
constexpr int64_t kBuffer = 1024;    // per call of a decoder that does not write to the destination itself

// One element from the type of the decoder, S, to that of the destination, T.
template <class T, class S>
T converted(S value, const SourceTensor& tensor, const std::string& path) {
  if constexpr (std::is_same_v<S, int64_t>) {
    if constexpr (std::is_integral_v<T>) {
      if (!std::in_range<T>(value)) [[unlikely]] {
        fail("load {}: tensor '{}' holds {}, which does not fit in {}", path, excerpt(tensor.name), value,
             dtype_of<T>());
      }
    }
    return T(value);
  } else if constexpr (std::is_same_v<T, BFloat16>) {
    return BFloat16(static_cast<float>(value));
  } else {
    return static_cast<T>(value);
  }
}

// Elements of one row of the file, in order, to elements of the destination at a constant distance.
struct Run {
  const std::byte* from;
  int64_t count;  // whole blocks
  char* to;
  int64_t stride;  // of the destination, in elements
};

template <size_t kSize>
void copy_strided(const Run& run) {
  for (int64_t i = 0; i < run.count; ++i) {
    std::memcpy(run.to + i * run.stride * static_cast<int64_t>(kSize), run.from + i * static_cast<int64_t>(kSize),
                kSize);
  }
}

void copy_run(const Run& run, size_t size) {
  if (run.stride == 1) {
    std::memcpy(run.to, run.from, static_cast<size_t>(run.count) * size);
    return;
  }
  switch (size) {
    case 1:
      return copy_strided<1>(run);
    case 2:
      return copy_strided<2>(run);
    case 4:
      return copy_strided<4>(run);
    default:
      return copy_strided<8>(run);
  }
}

template <class T, class S>
void decode_run(const Run& run, const SourceTensor& tensor, const std::string& path) {
  const StoredType& type = *tensor.type;
  if constexpr (std::is_same_v<T, S>) {
    if (run.stride == 1) return type.decode(run.from, run.count / type.block, run.to);
  }
  S buffer[kBuffer];
  T* to = reinterpret_cast<T*>(run.to);
  for (int64_t begin = 0; begin < run.count; begin += kBuffer) {
    const int64_t count = std::min(kBuffer, run.count - begin);
    type.decode(run.from + begin / type.block * type.bytes, count / type.block, buffer);
    for (int64_t i = 0; i < count; ++i) to[(begin + i) * run.stride] = converted<T>(buffer[i], tensor, path);
  }
}

void convert_run(const Run& run, const SourceTensor& tensor, DType dtype, const std::string& path) {
  if (same_bytes(*tensor.type) == dtype) return copy_run(run, size_of(dtype));
  visit(dtype, [&]<class T>(std::type_identity<T>) {
    if constexpr (std::is_integral_v<T>) {
      decode_run<T, int64_t>(run, tensor, path);
    } else if (tensor.type->decoded == StoredType::Decoded::f64) {
      decode_run<T, double>(run, tensor, path);
    } else {
      decode_run<T, float>(run, tensor, path);
    }
  });
}

// Writes the elements in the order of the file to those of `to` in row-major order. The rows of both have one length.
void convert(const SourceTensor& tensor, const View& to, const std::string& path) {
  const int64_t total = to.numel();
  const bool one_row = to.contiguous() || to.rank() == 0;
  const int64_t row_size = one_row ? total : to.shape.back();
  const int64_t stride = one_row ? 1 : to.strides.back();
  const auto start_of_row = [&](int64_t row) {
    int64_t offset = 0;
    for (int d = to.rank() - 2; d >= 0 && !one_row; --d) {
      offset += row % to.shape[d] * to.strides[d];
      row /= to.shape[d];
    }
    return offset;
  };
  parallel_for(total, kGrain, [&](int64_t begin, int64_t end) {
    for (int64_t at = begin; at < end;) {
      const int64_t column = at % row_size;
      const int64_t count = std::min(end - at, row_size - column);
      const int64_t offset = start_of_row(at / row_size) + column * stride;
      convert_run({tensor.data.data() + at / tensor.type->block * tensor.type->bytes, count,
                   to.as<char>() + offset * static_cast<int64_t>(size_of(to.dtype)), stride},
                  tensor, to.dtype, path);
      at += count;
    }
  });
}

TensorSource open_gguf(std::shared_ptr<const MappedFile> mapped) {
  const auto file = std::make_shared<const GgufFile>(mapped);
  std::vector<SourceTensor> tensors;
  for (const GgufTensor& tensor : file->tensors()) {
    tensors.push_back({std::string(tensor.name), tensor.type, Shape(tensor.shape), file->data(tensor), mapped.get()});
  }
  return TensorSource(file->path(), std::move(tensors), {}, {mapped}, file);
}

// The file in a folder that open_tensors() reads.
std::string model_file(const std::filesystem::path& folder) {
  namespace fs = std::filesystem;
  std::error_code error;
  for (const char* name : {"model.safetensors", "model.safetensors.index.json"}) {
    if (fs::exists(folder / name, error)) return (folder / name).string();
  }
  const std::vector<std::string> found = gguf_files_in(folder.string());
  check(
      !fs::exists(folder / "pytorch_model.bin", error),
      "open {}: the folder has its weights as pytorch_model.bin, which is not read because reading it runs code; save "
      "them as safetensors, as save_pretrained of transformers does",
      folder.string());
  check(found.size() == 1,
        "open {}: the folder has {} GGUF files, expected model.safetensors, model.safetensors.index.json or one GGUF "
        "file",
        folder.string(), found.size());
  return found[0];
}

}  // namespace

std::optional<DType> same_bytes(const StoredType& type) {
  struct Row {
    const char* name;
    DType dtype;
  };
  constexpr Row rows[] = {{"F64", f64}, {"F32", f32}, {"BF16", bf16}, {"I32", i32}, {"U8", u8}, {"BOOL", u8}};
  for (const Row& row : rows) {
    if (type.name == row.name) return row.dtype;
  }
  return {};
}

DType default_dtype(const StoredType& type) {
  return same_bytes(type).value_or(type.decoded == StoredType::Decoded::i64 ? i32 : f32);
}

TensorSource::TensorSource(std::string path, std::vector<SourceTensor> tensors,
                           std::map<std::string, std::string> metadata,
                           std::vector<std::shared_ptr<const MappedFile>> files, std::shared_ptr<const GgufFile> gguf)
    : path_(std::move(path)),
      tensors_(std::move(tensors)),
      metadata_(std::move(metadata)),
      files_(std::move(files)),
      gguf_(std::move(gguf)) {
  for (size_t i = 0; i < tensors_.size(); ++i) {
    check(by_name_.emplace(tensors_[i].name, i).second, "load {}: the tensor name '{}' appears twice", path_,
          excerpt(tensors_[i].name));
  }
}

const SourceTensor* TensorSource::find(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : &tensors_[found->second];
}

const SourceTensor& TensorSource::at(std::string_view name) const {
  const SourceTensor* tensor = find(name);
  if (!tensor) {
    std::vector<std::string> known;
    for (const SourceTensor& other : tensors_) known.push_back(other.name);
    fail("{}: there is no tensor '{}'{}", path_, name, did_you_mean(name, known));
  }
  return *tensor;
}

void TensorSource::fill(const SourceTensor& tensor, const Tensor& destination, const Tensor& ordered) const {
  const DType dtype = destination.dtype();
  const bool integers = tensor.type->decoded == StoredType::Decoded::i64;
  check(integers != is_floating(dtype), "load {}: tensor '{}' has {}, which are not converted to {}", path_,
        excerpt(tensor.name), tensor.type->name, dtype);
  for (int d = 0; d < destination.rank(); ++d) {
    check(destination.strides()[d] != 0 || destination.size(d) <= 1 || destination.numel() == 0,
          "load {}: the destination of tensor '{}', {}, repeats its elements along dim {}", path_, excerpt(tensor.name),
          destination.shape(), d);
  }
  tensor.file->check_size();
  ++destination.storage()->version;
  if (destination.device().on_host()) {
    ++destination.storage()->writes;
    convert(tensor, ordered, path_);
  } else {
    const Tensor staged = Tensor::empty(ordered.shape(), dtype);
    convert(tensor, staged, path_);
    ordered.copy_from(staged);
  }
}

void TensorSource::read_into(std::string_view name, const Tensor& destination) const {
  const SourceTensor& tensor = at(name);
  check(destination.defined(), "load {}: the destination of tensor '{}' is undefined", path_, name);
  check(tensor.shape == destination.shape(), "load {}: tensor '{}' is {}, expected {}", path_, name, tensor.shape,
        destination.shape());
  fill(tensor, destination, destination.detach());
}

void TensorSource::read_interleaved_into(std::string_view name, const Tensor& destination, int64_t heads) const {
  const SourceTensor& tensor = at(name);
  check(destination.defined(), "load {}: the destination of tensor '{}' is undefined", path_, name);
  check(tensor.shape == destination.shape(), "load {}: tensor '{}' is {}, expected {}", path_, name, tensor.shape,
        destination.shape());
  check(heads > 0 && tensor.shape.rank() == 2 && tensor.shape[0] % heads == 0 && tensor.shape[0] / heads % 2 == 0,
        "load {}: tensor '{}' is {}, expected the rows of {} heads of an even size each", path_, name, tensor.shape,
        heads);
  // Row 2·j + p of a head in the file is row p · d/2 + j of the destination.
  const int64_t half = tensor.shape[0] / heads / 2;
  const int64_t row = destination.strides()[0];
  const Tensor ordered =
      Tensor::view_of(destination.storage(), destination.offset(), {heads, half, 2, tensor.shape[1]},
                      {2 * half * row, row, half * row, destination.strides()[1]}, destination.dtype());
  fill(tensor, destination, ordered);
}

Tensor TensorSource::read(std::string_view name, DType dtype) const {
  const Tensor tensor = Tensor::empty(at(name).shape, dtype);
  read_into(name, tensor);
  return tensor;
}

TensorSource open_tensors(const std::string& path) {
  std::error_code error;
  const std::string name = std::filesystem::is_directory(path, error) ? model_file(path) : path;
  if (name.ends_with(".json")) return open_safetensors_index(name);
  auto file = std::make_shared<const MappedFile>(name);
  const bool gguf = file->bytes().size() >= 4 && std::memcmp(file->bytes().data(), "GGUF", 4) == 0;
  return gguf ? open_gguf(std::move(file)) : open_safetensors(std::move(file));
}

}  // namespace pg
