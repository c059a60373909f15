#!/bin/sh
# On a GPU machine, from the root of the checkout, with .peers/ there (see benchmarks/peers/README.md): the runs behind
# docs/performance.md. One receipt for each run goes to OUT/PROBLEM/; eight of them in all, in about eight minutes.
#   sh benchmarks/measure_gpu.sh OUT                    all of it
#   sh benchmarks/measure_gpu.sh OUT judge|norm|attention
set -u
out=${1:?usage: measure_gpu.sh OUT [judge|norm|attention]}
only=${2:-all}
export PYTHONPATH=.
mkdir -p "$out"
log=$(mktemp)
failed=0

told() { # shows the log where a run left no receipt
    [ "$1" = yes ] || { tail -20 "$log"; failed=1; }
}

judge() { # the demo file against one that is used now
    found=$(python -m kgen.measure judge generated/attention/gqa8_fp8_page1 \
        --against "benchmarks/peers/attention/$1.py" --budget 20 --timeout 120 --out "$out/gqa8_fp8_page1" 2>"$log")
    printf '%s\n' "$found"
    case $found in *"receipt $out"*) told yes ;; *) told no ;; esac
}

beside() { # a family beside its peers; no bundle is begun after so many seconds
    python benchmarks/side_by_side.py "$1" --out "$out" --within "$2" --budget "$3" --timeout 120 2>"$log"
    [ $? -eq 0 ] && told yes || told no
}

case $only in all | judge) judge fa3; judge torch_sdpa ;; esac
case $only in all | norm) beside norm 60 15 ;; esac
case $only in all | attention) beside attention 290 25 ;; esac
rm -f "$log"
exit $failed
