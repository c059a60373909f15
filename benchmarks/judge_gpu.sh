#!/bin/sh
# On a GPU machine, from the root of the checkout: shows that every flag works, then judges the committed files.
#   sh benchmarks/judge_gpu.sh OUT      writes JSON receipts under OUT, prints the tables, and a short one last
out=${1:?usage: judge_gpu.sh OUT}
export PYTHONPATH=. TRITON_CACHE_DIR="${TRITON_CACHE_DIR:-/tmp/kgen-triton}"
mkdir -p "$out"
python -m pytest tests/gpu/test_measure_gpu.py -m gpu -q -p no:cacheprovider >"$out/flags.txt" 2>&1
flags=$(tail -1 "$out/flags.txt")
for bundle in generated/*/*/; do
    name=$(basename "$bundle")
    python -m kgen.measure bench "$bundle" --budget 20 --out "$out/$name" >"$out/$name.txt" 2>"$out/$name.err"
    echo "$name: exit $?" >>"$out/codes.txt"
    cat "$out/$name.txt"
done
echo "flags: $flags"
cat "$out/codes.txt"
