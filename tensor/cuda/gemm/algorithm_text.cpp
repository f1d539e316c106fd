// cuBLASLt's algorithms and epilogues in words.
#include <fmt/format.h>

#include <set>
#include <utility>
#include <vector>

#include "tensor/cuda/gemm/request.h"

namespace pg::cuda {
namespace {

// A value of the algorithm's configuration; 0 if the algorithm has no such value.
uint32_t value_of(const cublasLtMatmulAlgo_t& algorithm, cublasLtMatmulAlgoConfigAttributes_t attribute) {
  uint32_t value = 0;
  size_t written = 0;
  const auto status = cublasLtMatmulAlgoConfigGetAttribute(&algorithm, attribute, &value, sizeof(value), &written);
  return status == CUBLAS_STATUS_SUCCESS ? value : 0;
}

using Tile = std::pair<int, int>;
// The tiles of cublasLtMatmulTile_t, from number 1 on: a list, then every other multiple of 8 x 64 of up to 49152
// elements, every other multiple of 64 x 8 of up to 65536, and four large ones.
std::vector<Tile> all_tiles() {
  std::vector<Tile> tiles = {{8, 8},     {8, 16},    {16, 8},    {8, 32},    {16, 16},  {32, 8},    {8, 64},
                             {16, 32},   {32, 16},   {64, 8},    {32, 32},   {32, 64},  {64, 32},   {32, 128},
                             {64, 64},   {128, 32},  {64, 128},  {128, 64},  {64, 256}, {128, 128}, {256, 64},
                             {64, 512},  {128, 256}, {256, 128}, {512, 64},  {64, 96},  {96, 64},   {96, 128},
                             {128, 160}, {160, 128}, {192, 128}, {128, 192}, {128, 96}, {32, 256},  {256, 32}};
  std::set<Tile> known(tiles.begin(), tiles.end());
  const auto add = [&](int row_step, int column_step, int most) {
    for (int rows = row_step; rows <= 768; rows += row_step) {
      for (int columns = column_step; columns <= 768 && rows * columns <= most; columns += column_step) {
        if (known.insert({rows, columns}).second) tiles.push_back({rows, columns});
      }
    }
  };
  add(8, 64, 49152);
  add(64, 8, 65536);
  for (const Tile& tile : {Tile{256, 512}, Tile{256, 1024}, Tile{512, 512}, Tile{512, 1024}}) tiles.push_back(tile);
  return tiles;
}

std::string tile_text(uint32_t number) {
  static const std::vector<Tile> tiles = all_tiles();
  if (number < 1 || number > tiles.size()) return fmt::format("number {}", number);
  const auto& [rows, columns] = tiles[number - 1];
  return fmt::format("{}x{}", rows, columns);
}

// cublasLtMatmulStages_t: the depth of a stage x the number of stages.
std::string stages_text(uint32_t number) {
  constexpr int kDepths[] = {16, 32, 64, 128};
  if (number >= 1 && number <= 24) return fmt::format("{}x{}", kDepths[(number - 1) / 6], (number - 1) % 6 + 1);
  constexpr const char* kOthers[] = {"32x10", "8x4", "16x10", "8x5"};
  if (number >= 25 && number <= 28) return kOthers[number - 25];
  if (number == 31) return "8x3";
  constexpr int kAuto[] = {8, 16, 32, 64, 128, 256, 768};
  if (number >= 32 && number <= 38) return fmt::format("{}xauto", kAuto[number - 32]);
  return fmt::format("number {}", number);
}

}  // namespace

std::string text_of(const cublasLtMatmulAlgo_t& algorithm) {
  return fmt::format("{}, tile {}, stages {}, split-K {}", value_of(algorithm, CUBLASLT_ALGO_CONFIG_ID),
                     tile_text(value_of(algorithm, CUBLASLT_ALGO_CONFIG_TILE_ID)),
                     stages_text(value_of(algorithm, CUBLASLT_ALGO_CONFIG_STAGES_ID)),
                     std::max(1u, value_of(algorithm, CUBLASLT_ALGO_CONFIG_SPLITK_NUM)));
}

std::string text_of(cublasLtEpilogue_t epilogue) {
  switch (epilogue) {
    case CUBLASLT_EPILOGUE_BIAS:
      return "bias";
    case CUBLASLT_EPILOGUE_GELU:
      return "gelu";
    case CUBLASLT_EPILOGUE_GELU_BIAS:
      return "bias, gelu";
    case CUBLASLT_EPILOGUE_GELU_AUX:
      return "gelu with its input";
    case CUBLASLT_EPILOGUE_GELU_AUX_BIAS:
      return "bias, gelu with its input";
    case CUBLASLT_EPILOGUE_DGELU:
      return "gelu backward";
    case CUBLASLT_EPILOGUE_BGRADB:
      return "row sums";
    default:
      return "";
  }
}

}  // namespace pg::cuda
