#!/bin/sh
# Which folder may include which. tests, tools and lessons may include everything below them; the layers are
#   tensor/base <- tensor <- autograd <- nn <- rl, tensor/base <- tensor/sim, tensor/base <- tasks <- rl.
# CUDA headers are in tensor/cuda, tensor/sim and tests/sim only. No -ffast-math anywhere. Run from the root.
bad=0
report() { # report WHY: prints the matches on standard input, if any, and remembers the failure
  hits=$(cat)
  [ -z "$hits" ] || { printf '%s:\n%s\n' "$1" "$hits"; bad=1; }
}
includes() { # includes FOLDER PATTERN: the #include lines of FOLDER whose path matches PATTERN
  [ ! -d "$1" ] || grep -rnE "#[[:space:]]*include[[:space:]]*[<\"]($2)" --include='*.h' --include='*.cpp' --include='*.cu*' "$1"
}
outer='tools/|lessons/|tests/'
report 'tensor/base/ may include only tensor/base/' <<END
$(includes tensor/base "$outer|rl/|nn/|autograd/|tasks/|tensor/" | grep -v '"tensor/base/')
END
report 'tensor/sim/ may include only tensor/sim/ and tensor/base/' <<END
$(includes tensor/sim "$outer|rl/|nn/|autograd/|tasks/|tensor/" | grep -vE '"tensor/(base|sim)/')
END
report 'tensor/ may include only tensor/' <<END
$(includes tensor "$outer|rl/|nn/|autograd/|tasks/")
END
report 'autograd/ may include only autograd/ and tensor/' <<END
$(includes autograd "$outer|rl/|nn/|tasks/")
END
report 'nn/ may include only nn/, autograd/ and tensor/' <<END
$(includes nn "$outer|rl/|tasks/")
END
report 'rl/ may not include tools/, lessons/ or tests/' <<END
$(includes rl "$outer")
END
report 'the formulas, rl/*, may not include the loops that use them' <<END
$(includes rl 'rl/(text|control)/' | grep -vE '^rl/(text|control)/')
END
report 'rl/text/ and rl/control/ are independent' <<END
$(includes rl/text 'rl/control/'; includes rl/control 'rl/text/')
END
report 'what is above tensor/ asks tensor/backend.h, not tensor/cuda/' <<END
$(for folder in autograd nn rl tasks tools; do includes $folder 'tensor/(cuda|sim)/'; done)
END
report 'tasks/ may include only tasks/ and tensor/base/' <<END
$(includes tasks "$outer|rl/|nn/|autograd/|tensor/" | grep -v '"tensor/base/')
END
report 'a lesson may not use what a later one introduces' <<END
$(for folder in lessons/0* lessons/10_*; do includes "$folder" 'tensor/cuda/'; done
  for folder in lessons/[0-9]*; do
    includes "$folder" 'lessons/[0-9]' | LC_ALL=C awk -F'"' -v own="$folder/" '$2 > own && index($2, own) != 1'
  done
  includes lessons/01_tensors 'autograd/|nn/|rl/|tasks/'
  includes lessons/02_autograd 'nn/|rl/|tasks/'
  includes lessons/03_language_model 'rl/|nn/(transformer|decode/|train/trainer|files/)'
  includes lessons/04_gpt 'rl/')
END
report 'CUDA headers belong in tensor/cuda/, tensor/sim/ and tests/sim/' <<END
$(for folder in tensor autograd nn rl tasks tools lessons tests; do
  includes $folder 'cuda|cublas|nccl|cooperative_groups|cub/|thrust/'; done | grep -vE '^(tensor/cuda|tensor/sim|tests/sim)/')
END
report '-ffast-math changes results' <<END
$(grep -rnE '^[^#]*-ffast-math' CMakeLists.txt CMakePresets.json Makefile cmake tests/CMakeLists.txt)
END
graph=$(sh scripts/include_graph.sh) || bad=1
# shellcheck disable=SC2016  # the backquotes are those of Markdown
[ "$graph" = "$(sed -n '/^```mermaid$/,/^```$/p' docs/ARCHITECTURE.md | grep -v '^```')" ] || {
  echo 'docs/ARCHITECTURE.md: the include graph is not what scripts/include_graph.sh prints; paste its output there'
  bad=1
}
exit $bad
