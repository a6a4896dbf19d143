from typing import Any, List, Optional, Tuple

VERSION: str

class Error(Exception): ...

class Table:
    @property
    def columns(self) -> List[str]: ...
    def __len__(self) -> int: ...
    def __arrow_c_stream__(self, requested_schema: Optional[object] = None) -> Any: ...

def explain(
    path: Optional[str],
    data: Optional[bytes],
    name: str,
    host: Optional[str],
    port: Optional[int],
) -> Tuple[str, List[Tuple[str, Table]]]: ...
def explain_many(
    paths: List[str],
    pattern: Optional[str],
    host: Optional[str],
    port: Optional[int],
    jobs: int,
) -> List[Tuple[str, Table]]: ...
def run(arguments: List[str]) -> str: ...
def main(arguments: List[str]) -> int: ...
