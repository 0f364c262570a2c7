"""The script docs/settings.py, as a module."""

import importlib.util
from pathlib import Path
from types import ModuleType


def settings_page() -> ModuleType:
    path = Path(__file__).parents[1] / "docs" / "settings.py"
    spec = importlib.util.spec_from_file_location("settings_page_script", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
