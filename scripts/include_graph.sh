#!/bin/sh
# Prints which layer includes which as a Mermaid graph, from the #include "..." lines of the tree. An arrow that follows
# from others is left out: a -> c where a -> b -> c. Fails if a layer includes one above it, or if folders, also those
# inside a layer, include one another in a circle.
# docs/ARCHITECTURE.md shows the output; tests/include_rule.sh compares them. Run from the root.
find tensor autograd nn tasks rl tools/pg tools/report lessons tests \
  \( -name '*.h' -o -name '*.cpp' -o -name '*.cu' -o -name '*.def' \) \
  -exec grep -H '^[[:space:]]*#[[:space:]]*include[[:space:]]*"' {} + | awk '
BEGIN {
  # From top to bottom.
  count = split("tests lessons tools/pg tools/report tests/op_samples rl/text rl/control rl tasks nn/files nn " \
                "autograd/check autograd tensor/plain tensor/cpu tensor/cuda tensor tensor/sim " \
                "tensor/base/files tensor/base", layer, " ")
  for (i = 1; i <= count; ++i) number[layer[i]] = i
  number["lessons/kit/test"] = number["tests"]
  number["tools/web"] = number["lessons"]
}
function folder_of(path) {
  sub(/\/[^\/]*$/, "", path)
  return path
}
# The layer with the longest folder that `path` is in; 0 if there is none.
function layer_of(path) {
  while (!(path in number)) {
    if (!sub(/\/[^\/]*$/, "", path)) return 0
  }
  return number[path]
}
{
  file = substr($0, 1, index($0, ":") - 1)
  split($0, part, "\"")
  if (part[2] ~ /\// && folder_of(file) != folder_of(part[2])) {
    folder[folder_of(file)] = folder[folder_of(part[2])] = 1
    below[folder_of(file), folder_of(part[2])] = 1
    found[folder_of(file), folder_of(part[2])] = file " includes \"" part[2] "\""
  }
  from = layer_of(file)
  to = layer_of(part[2])
  if (!to || to < from) {
    print file " includes \"" part[2] "\": " (to ? layer[to] " is above " layer[from] : "no layer") > "/dev/stderr"
    bad = 1
  }
  if (from < to) includes[from, to] = reaches[from, to] = 1
}
END {
  for (k in folder)
    for (i in folder)
      if (below[i, k])
        for (j in folder)
          if (below[k, j]) below[i, j] = 1
  for (edge in found) {
    split(edge, ends, SUBSEP)
    if (below[ends[2], ends[1]]) {
      print found[edge] ": " ends[2] " includes " ends[1] ", itself or through others" > "/dev/stderr"
      bad = 1
    }
  }
  for (k = 1; k <= count; ++k)
    for (i = 1; i < k; ++i)
      for (j = k + 1; j <= count; ++j)
        if (reaches[i, k] && reaches[k, j]) reaches[i, j] = 1
  if (bad) exit 1
  print "graph TD"
  for (i = 1; i <= count; ++i) {
    id = layer[i]
    gsub("/", "_", id)
    name[i] = id
    if (id != layer[i]) print "  " id "[" layer[i] "]"
  }
  for (i = 1; i <= count; ++i)
    for (j = i + 1; j <= count; ++j) {
      direct = includes[i, j]
      for (k = i + 1; k < j; ++k)
        if (includes[i, k] && reaches[k, j]) direct = 0
      if (direct) print "  " name[i] " --> " name[j]
    }
}'
