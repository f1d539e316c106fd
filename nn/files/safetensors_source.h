#pragma once
// Safetensors files and folders of them as sources of tensors. Most callers use open_tensors() of
// nn/files/tensor_source.h.
#include <memory>
#include <string>

#include "nn/files/tensor_source.h"
#include "tensor/base/files/mapped_file.h"

namespace pg {

// A single file. The reader checks every length, offset and shape before using it; an Error names the file, the tensor
// and the reason.
TensorSource open_safetensors(std::shared_ptr<const MappedFile> file);

// The index of a model in several files ("shards"): JSON with "weight_map", from the name of each tensor to the file,
// and "metadata", which may have "total_size", the bytes of all tensors. The files are in the index's folder; they may
// be symbolic links. Error if a file has no plain name ending in .safetensors, if the files have not exactly the
// tensors that the index says, or not total_size bytes of them.
TensorSource open_safetensors_index(const std::string& path);

}  // namespace pg
