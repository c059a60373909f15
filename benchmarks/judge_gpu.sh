#!/bin/sh
# On a GPU machine, from the root of the checkout, in two steps of a few minutes each; receipts and logs go under OUT.
#   sh benchmarks/judge_gpu.sh OUT flags    every planted cheat is flagged there, and no honest file
#   sh benchmarks/judge_gpu.sh OUT bench    times of the committed files' workloads, each against itself
set -u
out=${1:?usage: judge_gpu.sh OUT flags|bench}
step=${2:?usage: judge_gpu.sh OUT flags|bench}
export PYTHONPATH=.
mkdir -p "$out"
case $step in
flags)
    python -m pytest tests/gpu/test_measure_gpu.py -m gpu -q -rA -p no:cacheprovider --durations=5 >"$out/flags.txt" 2>&1
    grep -E "^(FAILED|ERROR)" "$out/flags.txt"
    tail -1 "$out/flags.txt"
    ;;
bench)
    : >"$out/codes.txt"
    for bundle in generated/*/*/; do
        name=$(basename "$bundle")
        python -m kgen.measure bench "$bundle" --budget 15 --out "$out/$name" >"$out/$name.txt" 2>"$out/$name.err"
        echo "$name: exit $?" >>"$out/codes.txt"
        cat "$out/$name.txt"
    done
    cat "$out/codes.txt"
    ;;
esac
