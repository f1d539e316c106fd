#pragma once
// One reader for the tensors of model files: a safetensors file, a folder of safetensors shards, a GGUF file. The files
// are mapped into memory and stay mapped while the source exists. A tensor is converted directly from the mapped file
// into the memory of its destination, so a model is filled without a second copy of its weights.
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/base/files/stored_type.h"
#include "tensor/tensor.h"

namespace pg {

class GgufFile;
class MappedFile;

struct SourceTensor {
  std::string name;                  // as in the file
  const StoredType* type = nullptr;  // as the file stores it; a row of stored_types()
  Shape shape;                       // outermost dimension first, in both containers
  std::span<const std::byte> data;   // within the mapped file
  const MappedFile* file = nullptr;
};

// The type of tensors whose elements have the bytes that the file has; none for F16, I64 and quantised types.
std::optional<DType> same_bytes(const StoredType& type);
// The type that a stored tensor has when nobody chooses one: F32, F64, BF16, I32 and U8 keep theirs; F16 and quantised
// types become f32, BOOL u8, other integers i32.
DType default_dtype(const StoredType& type);

class TensorSource {
 public:
  // `path` is for messages. Error if two tensors have one name.
  TensorSource(std::string path, std::vector<SourceTensor> tensors, std::map<std::string, std::string> metadata,
               std::vector<std::shared_ptr<const MappedFile>> files, std::shared_ptr<const GgufFile> gguf = nullptr);

  const std::string& path() const { return path_; }
  // In the order of the data in the file; for shards, in the order of the names of their files.
  const std::vector<SourceTensor>& tensors() const { return tensors_; }
  // Null if there is none of that name.
  const SourceTensor* find(std::string_view name) const;
  // An Error names the file, and the nearest known name, if there is none of that name.
  const SourceTensor& at(std::string_view name) const;
  // The "__metadata__" of a safetensors file without the checksum; empty for shards and GGUF.
  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  // The GGUF file with its metadata; null for other files.
  const GgufFile* gguf() const { return gguf_.get(); }

  // Writes the tensor into `destination`, which has its shape, any strides (a slice of rows, a transposed view) and any
  // device, converted to its dtype: floats to floats (rounded once to nearest, ties to even; F64 to bf16 by way of f32,
  // as Tensor::to does it), integers and booleans to integers. Counts as a write of a parameter (Storage::version). An
  // Error names the file and the tensor: a missing name, another shape, floats for integers or the reverse, a value
  // that does not fit, a destination that repeats elements, a file that has become shorter.
  void read_into(std::string_view name, const Tensor& destination) const;
  // The same for attn_q and attn_k of a GGUF file of architecture "llama", [heads · d, ...]: there the rows of a head
  // lie in the order 0, d/2, 1, d/2 + 1, ..., for rotation of neighbours. They are written in the order 0, 1, 2, ..., d
  // - 1, for rotation of halves (the ops' rope). Error unless the tensor has heads · d rows with d even.
  void read_interleaved_into(std::string_view name, const Tensor& destination, int64_t heads) const;
  // A new tensor on the CPU.
  Tensor read(std::string_view name, DType dtype) const;

 private:
  // Converts `tensor` to the elements of `ordered`, a view of `destination`, in row-major order.
  void fill(const SourceTensor& tensor, const Tensor& destination, const Tensor& ordered) const;

  std::string path_;
  std::vector<SourceTensor> tensors_;
  std::map<std::string, size_t, std::less<>> by_name_;
  std::map<std::string, std::string> metadata_;
  std::vector<std::shared_ptr<const MappedFile>> files_;
  std::shared_ptr<const GgufFile> gguf_;
};

// Opens a safetensors file, a GGUF file (told by their first bytes), a safetensors index (NAME.index.json), or a folder
// with model.safetensors, with model.safetensors.index.json or with one GGUF file. Reads the headers only.
TensorSource open_tensors(const std::string& path);

}  // namespace pg
