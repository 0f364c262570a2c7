"""A file that is dropped onto the page: streamed to disk in pieces, bounded, and under its name only when whole."""

import asyncio
import shutil
import tempfile
from collections.abc import AsyncGenerator
from pathlib import Path

from starlette.datastructures import UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import Request

from improvable.errors import DataError
from improvable.web.folder import Folder

MOST_BYTES = 4 << 30


async def receive(request: Request, folder: Folder, most: int = MOST_BYTES) -> str:
    """Keep the file of a form in the folder; its name there."""
    try:
        form = await MultiPartParser(request.headers, _counted(request, most), max_files=1, max_fields=10).parse()
    except MultiPartException as error:
        raise DataError(f"the file did not arrive: {error.message}", "Choose it again.") from None
    upload = form.get("upload")
    try:
        if not isinstance(upload, UploadFile) or not upload.filename:
            raise DataError("no file was chosen.", "Choose one, or drop it onto the page.")
        return await asyncio.to_thread(_keep, upload, upload.filename, folder)
    finally:
        await form.close()


def _keep(upload: UploadFile, wanted: str, folder: Folder) -> str:
    folder.new_name(wanted)  # refused before anything is written
    with tempfile.NamedTemporaryFile(dir=folder.root, prefix=".arriving-", delete=False) as part:
        try:
            shutil.copyfileobj(upload.file, part, 1 << 20)
            part.flush()
            place = _reserve(folder, wanted)
            Path(part.name).replace(place)
            return place.name
        except BaseException:
            Path(part.name).unlink(missing_ok=True)
            raise


def _reserve(folder: Folder, wanted: str) -> Path:
    """A name that nobody else has, taken in one step: of two uploads of one name, neither is lost."""
    while True:
        place = folder.root / folder.new_name(wanted)
        try:
            place.open("xb").close()
        except FileExistsError:
            continue
        return place


async def _counted(request: Request, most: int) -> AsyncGenerator[bytes, None]:
    seen = 0
    async for chunk in request.stream():
        seen += len(chunk)
        if seen > most:
            raise DataError(f"the file is larger than {most >> 20:,} MB.", "Put it into the folder yourself instead.")
        yield chunk
