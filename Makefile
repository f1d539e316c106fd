# A thin front of CMake (CMakeLists.txt is the one build description).
#   make             the engine, the pg command and all lessons     make lesson4     one lesson, then: ./lesson4
#   make test        every test but the long ones; LONG=1: all      make bench       speed of every op and step
#   make doctor      is this machine ready?                         make progress    your course so far
#   make grpo        docs/grpo.cpp: GRPO on one page, then: ./grpo
#   make my_gpt      the end of a track, on your own pieces: my_gpt (A), my_policy (B), my_ring (C)
#   make core_demo   docs/core_demo.cpp: the core alone, on plain loops, then: ./core_demo
#   make web         the lessons as pages whose demonstrations run in a browser: build-web/site/index.html
#   make watch LESSON=4   check on every save                       make format, make clean
# For a workshop (lessons/INSTRUCTOR.md): make handout DIR=…, room DIR=… [CODE=… PORT=…],
# collect DIR=… [LESSON=N], bundle DIR=…, answers FILE=…, mistakes DIR=….
# CUDA=1 builds for GPUs with nvcc, CUDA=sim for the simulator (docs/SIMULATOR.md), in folders of their own.
# NATIVE=0 builds for any CPU of this kind, CXX=clang++ with another compiler, JOBS=N with N compilers at once.
CUDA ?=
BUILD := build$(if $(filter-out 0,$(CUDA)),-$(if $(filter sim,$(CUDA)),sim,cuda))
NATIVE ?= 1
JOBS ?= $(shell nproc 2>/dev/null || sysctl -n hw.ncpu 2>/dev/null || echo 2)
OPTIONS := -DCMAKE_BUILD_TYPE=Release -DPOLICYGRAD_NATIVE=$(if $(filter 0,$(NATIVE)),OFF,ON) \
           $(if $(filter-out 0,$(CUDA)),-DPOLICYGRAD_CUDA=$(if $(filter sim,$(CUDA)),sim,nvcc)) \
           $(if $(filter command line environment,$(origin CXX)),-DCMAKE_CXX_COMPILER=$(CXX))
BUILD_IT = sh scripts/build.sh $(BUILD) $(JOBS)

MAKEFLAGS += --no-print-directory

.PHONY: all lessons grpo core_demo web test bench doctor progress watch handout collect room bundle answers mistakes format \
        clean setup configure FORCE
all: configure
	@$(BUILD_IT) pg lessons
	@for folder in lessons/[0-9]*/README.md; do \
	  number=$${folder#lessons/}; number=$${number%%_*}; ln -sf "$(BUILD)/lesson$${number#0}" .; done
	@ln -sf $(BUILD)/pg pg

lessons: all

lesson%: configure FORCE
	@set -- lessons/$*_* lessons/0$*_*; [ -d "$$1" ] || [ -d "$$2" ] || { echo "There is no lesson $* yet; there are:" lessons/[0-9]*; exit 1; }
	@$(BUILD_IT) $@
	@ln -sf $(BUILD)/$@ $@

# A milestone of cmake/milestones.cmake, which runs as soon as it is built.
my_%: configure FORCE
	@grep -q '^milestone($@ ' cmake/milestones.cmake || { echo "There is no $@; there are:" \
	  $$(sed -n 's/^milestone(\(my_[a-z]*\) .*/\1/p' cmake/milestones.cmake); exit 1; }
	@$(BUILD_IT) $@
	@$(BUILD)/$@

grpo core_demo: configure
	@$(BUILD_IT) $@
	@ln -sf $(BUILD)/$@ $@

test: configure
	@$(BUILD_IT) all mutants
	@sh scripts/run_tests.sh $(BUILD) $(JOBS)

bench: configure
	@$(BUILD_IT) pg
	@$(BUILD)/pg bench

doctor:
	@sh scripts/doctor.sh

# Each lesson prints its own line.
progress: configure
	@QUIET=1 $(BUILD_IT) lessons || echo "What does not compile is shown as its last check found it."
	@for folder in lessons/[0-9]*/README.md; do \
	  number=$${folder#lessons/}; number=$${number%%_*}; program=$(BUILD)/lesson$${number#0}; \
	  [ ! -x $$program ] || $$program progress || exit 1; done

web:
	@sh tools/web/build.sh $(JOBS)

watch:
	@sh scripts/watch.sh "$(LESSON)"

handout:
	@sh scripts/handout.sh "$(DIR)"

bundle:
	@sh scripts/bundle.sh "$(DIR)"

mistakes: configure
	@sh scripts/mistakes.sh $(BUILD) $(JOBS) "$(DIR)"

answers:
	@sh scripts/answers.sh "$(FILE)"

collect: configure
	@$(BUILD_IT) lesson_collect
	@$(BUILD)/lesson_collect "$(DIR)" $(if $(LESSON),--lesson "$(LESSON)")

room: configure
	@$(BUILD_IT) lesson_room
	@$(BUILD)/lesson_room "$(DIR)" $(if $(CODE),--code "$(CODE)") $(if $(PORT),--port "$(PORT)")

format:
	clang-format -i $$(git ls-files '*.h' '*.cpp' '*.cu')

clean:
	rm -rf $(BUILD)
	@for link in pg grpo lesson*; do if [ -L "$$link" ]; then rm "$$link"; fi; done

setup:
	@sh scripts/setup.sh

# Runs CMake when there is no build folder yet or the options have changed; CMake sees changed sources itself.
configure: setup
	@sh scripts/configure.sh $(BUILD) $(OPTIONS)
