"""The papers' tables: what is measured, in which order, the records of it, and the pages made from them.

```text
benchmarks/definitions/<paper>/<table>.toml   what is measured, and the paper's own figures   (definition, parameters)
        │  the small ones first, within budgets of time and memory                            (schedule)
        │  `vesica bench once`: one process a party, result checked                           (program)
        ▼
benchmarks/record/<date>-<machine>/<table>.csv   a line for each run                          (record)
benchmarks/record/traffic.csv                    bytes that were measured without any time    (traffic)
        │
        ▼
docs/benchmarks.md, docs/benchmarks/<paper>.md   paper's figure, ours, the ratio              (figures, pages)
docs/benchmarks/building-blocks.md               what criterion measured of benchmarks of today (benches)
benchmarks/record/<date>-<machine>/figures.csv   the same with the spread; `make plots` draws it
benchmarks/record/<date>-<machine>/cells.csv     the times that `vesica plan` starts from
```

Only the standard library is needed. What a cell means and costs is asked of the program `vesica`.
"""
