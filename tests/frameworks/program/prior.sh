#!/bin/sh
# Predicts the class prior, or the mean of the target. POSIX shell and awk, nothing else.
# It reads simple labels only: none with a comma, a quote, a backslash or a closing bracket.
set -eu
job=$1
say() { echo "$1" > "$ASSAY_PHASES"; }
value() { sed -n "s/^ *\"$1\": *\"\{0,1\}\([a-z0-9]*\).*/\1/p" "$job/job.json" | head -n 1; }

say load
classes=$(tr -d '\n' < "$job/job.json" | sed 's/.*"classes": *\[\([^]]*\)\].*/\1/')

say fit
model=$(awk -F, -v classes="$classes" '
  NR > 1 { sub(/\r$/, ""); count[$NF]++; sum += $NF }
  END {
    if (classes == "") { printf "%.17g", sum / (NR - 1); exit }
    k = split(classes, label, ",")
    for (i = 1; i <= k; i++) {
      gsub(/^ *"|" *$/, "", label[i])
      if (count[label[i]] > count[label[best]] || i == 1) best = i
    }
    printf "%s", label[best]
    for (i = 1; i <= k; i++) printf ",%.17g", count[label[i]] / (NR - 1)
  }' "$job/train.csv")

say predict
awk -v n="$(value n_test)" -v model="$model" 'BEGIN {
    k = split(model, part, ",") - 1
    printf "row,prediction"; for (i = 0; i < k; i++) printf ",p%d", i; print ""
    for (row = 0; row < n; row++) print row "," model
  }' > "$job/out/predictions.csv"
echo '{"schema": 1, "models_count": 0}' > "$job/out/report.json"
say end
