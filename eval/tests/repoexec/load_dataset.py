"""Loads a data set of `gistify repoexec export` as its readers do, and checks the form that TRL documents.

    python load_dataset.py DIR          (needs the package datasets)

TRL's trainers take a data set of the type "prompt-completion": columns `prompt` and `completion` with texts; other columns
are left alone. Prints the splits, and exits with 1 where a row has not that form or a function is in both splits.
"""

import sys

import datasets

directory = sys.argv[1]
files = {"train": f"{directory}/train.jsonl", "validation": f"{directory}/validation.jsonl"}
loaded = datasets.load_dataset("json", data_files=files)
wrong = []
for name, split in loaded.items():
    features = split.features
    print(f"datasets {datasets.__version__}: {name} has {split.num_rows} rows, columns {', '.join(split.column_names)}")
    for column in ("prompt", "completion"):
        if features.get(column) != datasets.Value("string"):
            wrong.append(f"{name}: column {column} is {features.get(column)}")
    wrong += [f"{name}: {row['id']} has no completion" for row in split if not row["completion"].strip()]
both = set(loaded["train"]["id"]) & set(loaded["validation"]["id"])
texts = set(loaded["train"]["completion"]) & set(loaded["validation"]["completion"])
repositories = set(loaded["train"]["repository"]) & set(loaded["validation"]["repository"])
print(f"in both splits: {len(both)} ids, {len(repositories)} repositories, {len(texts)} bodies")
wrong += sorted(both | repositories)
print("\n".join(wrong))
raise SystemExit(1 if wrong else 0)
