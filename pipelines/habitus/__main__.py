"""``python -m habitus`` is ``habitus``."""

from pipelines.cli.main import main

if __name__ == "__main__":
    main(prog_name="habitus")
