from __future__ import annotations

import hashlib
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest

from assay.data.openml import OpenMLSource, load_openml_suite
from assay.data.resolve import broken, fold_data, load, resolve
from assay.data.task import TaskRequest
from assay.errors import ConfigError, DataError, NotInstalled
from assay.settings import Settings

SHARED = Path(__file__).parents[2].parent / "shared" / "data" / "openml"
XML = 'xmlns:oml="http://openml.org/openml"'
ARFF = "@relation toy\n@attribute id numeric\n@attribute x real\n@attribute junk {u,v}\n"
ARFF += "@attribute class {p,n,z}\n@data\n"
ARFF += "".join(f"{row},{row}.5,u,{'pn'[row % 2]}\n" for row in range(12))


def task_xml(
    kind: str = "Supervised Classification", base: str = "http://127.0.0.1:9", dataset: str = "8"
) -> str:
    return f"""<oml:task {XML}><oml:task_id>7</oml:task_id><oml:task_type_id>1</oml:task_type_id>
<oml:task_type>{kind}</oml:task_type><oml:input name="source_data"><oml:data_set>
<oml:data_set_id>{dataset}</oml:data_set_id><oml:target_feature>class</oml:target_feature></oml:data_set></oml:input>
<oml:input name="estimation_procedure"><oml:estimation_procedure><oml:type>crossvalidation</oml:type>
<oml:data_splits_url>{base}/splits.arff</oml:data_splits_url></oml:estimation_procedure></oml:input></oml:task>"""


def data_xml(base: str = "http://127.0.0.1:9", md5: str = "") -> str:
    return f"""<oml:data_set_description {XML}><oml:id>8</oml:id><oml:name>toy</oml:name>
<oml:licence>CC0</oml:licence><oml:url>{base}/toy.arff</oml:url><oml:row_id_attribute>id</oml:row_id_attribute>
<oml:ignore_attribute>junk</oml:ignore_attribute><oml:md5_checksum>{md5}</oml:md5_checksum>
</oml:data_set_description>"""


def splits_arff(repeats: int = 2, folds: int = 3, last_row: int = 11) -> str:
    lines = ["@relation s", "@attribute type {TRAIN,TEST}", "@attribute rowid integer"]
    lines += ["@attribute repeat integer", "@attribute fold integer", "@data"]
    for repeat in range(repeats):
        for fold in range(folds):
            for row in range(last_row, -1, -1):
                side = "TEST" if (row + repeat) % folds == fold else "TRAIN"
                lines.append(f"{side},{row},{repeat},{fold}")
    return "\n".join(lines) + "\n"


def fill_cache(settings: Settings, host: str = "org/openml/www", **files: str) -> None:
    folder = settings.cache / "openml" / host
    contents = {
        "tasks/7/task.xml": files.get("task", task_xml()),
        "tasks/7/datasplits.arff": files.get("splits", splits_arff()),
        "datasets/8/description.xml": files.get("data", data_xml()),
        "datasets/8/dataset.arff": files.get("arff", ARFF),
    }
    for name, text in contents.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def test_cached_task_is_loaded_offline_with_its_own_folds(settings: Settings) -> None:
    fill_cache(settings)
    task = resolve(TaskRequest("openml/t/7"), settings)
    assert (task.name, task.id, task.type, task.target) == ("toy", "openml/t/7", "binary", "class")
    assert task.classes == ("n", "p")
    assert task.licence == "CC0"
    assert [(fold.repeat, fold.fold, fold.n_test) for fold in task.folds] == [
        (repeat, fold, 4) for repeat in range(2) for fold in range(3)
    ]
    fold = fold_data(load(task, settings), task, (1, 2))
    assert fold.test_rows.tolist() == [1, 4, 7, 10]
    assert [task.classes[code] for code in fold.y_test] == ["n", "p", "n", "p"]


def test_row_id_and_ignored_attributes_are_no_features(settings: Settings) -> None:
    fill_cache(settings)
    task = resolve(TaskRequest("openml/t/7"), settings)
    assert {column.name: column.role for column in task.columns} == {
        "id": "ignore",
        "x": "feature",
        "junk": "ignore",
        "class": "target",
    }


def test_test_server_has_a_cache_of_its_own(settings: Settings) -> None:
    fill_cache(settings, "org/openml/test")
    assert resolve(TaskRequest("test.openml/t/7"), settings).id == "test.openml/t/7"
    with pytest.raises(DataError, match=r"task openml/t/7 is not cached"):
        resolve(TaskRequest("openml/t/7"), settings)


def test_numeric_target_of_a_classification_is_made_of_labels(settings: Settings) -> None:
    arff = ARFF.replace("class {p,n,z}", "class numeric").replace(",p\n", ",10\n").replace(",n\n", ",9\n")
    fill_cache(settings, arff=arff)
    assert resolve(TaskRequest("openml/t/7"), settings).classes == ("9", "10")


def test_regression_task_has_numbers_as_target(settings: Settings) -> None:
    arff = ARFF.replace("class {p,n,z}", "class numeric").replace(",p\n", ",1\n").replace(",n\n", ",2\n")
    fill_cache(settings, arff=arff, task=task_xml("Supervised Regression"))
    assert resolve(TaskRequest("openml/t/7"), settings).type == "regression"


def test_first_folds_can_be_kept_and_other_splits_made(settings: Settings) -> None:
    fill_cache(settings)
    kept = resolve(TaskRequest("openml/t/7", split={"kind": "given", "folds": 2}), settings)
    assert [(fold.repeat, fold.fold) for fold in kept.folds] == [(0, 0), (0, 1)]
    other = resolve(TaskRequest("openml/t/7", split={"kind": "holdout", "test_size": 0.5}), settings)
    assert len(other.folds) == 1


def test_parquet_is_read_if_it_is_all_that_is_cached(settings: Settings) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    fill_cache(settings)
    folder = settings.cache / "openml/org/openml/www/datasets/8"
    (folder / "dataset.arff").unlink()
    table = pa.table({"x": list(range(12)), "class": pa.array(["p", "n"] * 6).dictionary_encode()})
    pq.write_table(table, folder / "dataset_8.pq")
    assert resolve(TaskRequest("openml/t/7"), settings).classes == ("n", "p")


def test_offline_without_cache_says_what_to_do(settings: Settings) -> None:
    with pytest.raises(
        DataError, match=r"Offline, and task openml/t/31 is not cached.*Run once with a network"
    ):
        resolve(TaskRequest("openml/t/31"), settings)


@pytest.mark.parametrize(
    "ref", ["openml/31", "openml/d/31", "openml/t/x", "openml/t/-1", "openml/t/../7", "openml/t/0"]
)
def test_reference_that_is_no_task_is_a_config_error(settings: Settings, ref: str) -> None:
    with pytest.raises(ConfigError, match=r"is no OpenML task in s\.yaml.*openml/t/ID"):
        resolve(TaskRequest(ref, where="in s.yaml"), settings)


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"task": "<oml:task"}, r"task\.xml is not XML.*Delete it"),
        ({"task": "<!DOCTYPE x [<!ENTITY a 'b'>]><x/>"}, "entities, which are refused"),
        ({"task": task_xml("Clustering")}, "type 'Clustering'"),
        ({"task": task_xml(dataset="../../../etc")}, "names the dataset"),
        (
            {"task": f"<oml:task {XML}><oml:task_type>Supervised Regression</oml:task_type></oml:task>"},
            "data_set_id",
        ),
        ({"splits": splits_arff(last_row=12)}, "row 12, but the dataset has 12 rows"),
        ({"splits": "@relation s\n@attribute type {TRAIN}\n@data\nTRAIN\n"}, "lack the attribute 'rowid'"),
        (
            {"splits": splits_arff().replace("integer", "numeric").replace("TEST,11,0,2", "TEST,11.5,0,2")},
            "whole",
        ),
        ({"arff": ARFF + "1,2\n"}, r"dataset 8 of openml/t/7, line 19: 2 values"),
    ],
)
def test_damaged_cache_is_one_data_error(settings: Settings, files: dict[str, str], message: str) -> None:
    fill_cache(settings, **files)
    with pytest.raises(DataError, match=message):
        resolve(TaskRequest("openml/t/7"), settings)


def test_known_task_is_resolved_without_the_client_or_pandas(settings: Settings) -> None:
    fill_cache(settings)
    digest = resolve(TaskRequest("openml/t/7"), settings).digest
    code = f"""
import sys
from pathlib import Path
from assay.data.resolve import resolve
from assay.data.task import TaskRequest
from assay.settings import Settings
print(resolve(TaskRequest("openml/t/7"), Settings(Path({str(settings.cache)!r}), Path("."))).digest)
assert not {{"openml", "pandas", "numpy"}} & set(sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == digest


def test_missing_client_names_the_extra(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "openml", None)
    online = Settings(settings.cache, settings.state)
    with pytest.raises(NotInstalled, match=r'pip install "assay-bench\[openml\]"'):
        OpenMLSource("openml", "http://127.0.0.1:9/api/v1/xml").load(TaskRequest("openml/t/7"), online)


@pytest.fixture
def online(settings: Settings) -> Settings:
    pytest.importorskip("openml")
    return Settings(settings.cache, settings.state, network_timeout_s=1.0)


class Server:
    """A loopback server with canned answers; what is not canned is the error that OpenML gives."""

    def __init__(self) -> None:
        self.answers: dict[str, str] = {}
        self.asked: list[str] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                path = self.path.partition("?")[0]
                outer.asked.append(path)
                text = outer.answers.get(path)
                body = (
                    text
                    or f"<oml:error {XML}><oml:code>151</oml:code><oml:message>Unknown task</oml:message></oml:error>"
                ).encode()
                self.send_response(200 if text is not None else 412)
                self.send_header("Content-Type", "text/xml; charset=utf-8")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *args: object) -> None:
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.base = f"http://127.0.0.1:{self.http.server_port}"
        self.thread = threading.Thread(target=self.http.serve_forever, daemon=True)
        self.thread.start()


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server()
    yield made
    made.http.shutdown()
    made.http.server_close()
    made.thread.join()


def test_task_is_fetched_once_and_then_read_from_the_cache(server: Server, online: Settings) -> None:
    md5 = hashlib.md5(ARFF.encode()).hexdigest()
    server.answers = {
        "/api/v1/xml/task/7": task_xml(base=server.base),
        "/api/v1/xml/data/8": data_xml(server.base, md5),
        "/toy.arff": ARFF,
        "/splits.arff": splits_arff(),
    }
    source = OpenMLSource("openml", f"{server.base}/api/v1/xml")
    first = source.load(TaskRequest("openml/t/7"), online)
    assert sorted(server.asked) == sorted(server.answers)
    assert first.splits is not None
    assert len(first.splits.folds) == 6
    again = source.load(TaskRequest("openml/t/7"), Settings(online.cache, online.state, offline=True))
    assert len(server.asked) == 4
    assert again.raw.n_rows == 12


def test_wrong_checksum_is_a_data_error_and_not_cached(server: Server, online: Settings) -> None:
    server.answers = {
        "/api/v1/xml/task/7": task_xml(base=server.base),
        "/api/v1/xml/data/8": data_xml(server.base, "0" * 32),
        "/toy.arff": ARFF,
    }
    with pytest.raises(DataError, match=r"dataset 8 of openml/t/7 .*does not match its checksum"):
        OpenMLSource("openml", f"{server.base}/api/v1/xml").load(TaskRequest("openml/t/7"), online)
    assert not list(online.cache.rglob("dataset.arff"))


def test_unknown_task_is_told_with_the_words_of_the_server(server: Server, online: Settings) -> None:
    with pytest.raises(DataError, match=r"has no task openml/t/7: Unknown task.*code 151"):
        OpenMLSource("openml", f"{server.base}/api/v1/xml").load(TaskRequest("openml/t/7"), online)


def test_answer_that_is_no_xml_is_a_data_error(server: Server, online: Settings) -> None:
    server.answers = {"/api/v1/xml/task/7": "<html>captive portal"}
    with pytest.raises(DataError, match=r"task\.xml is not XML"):
        OpenMLSource("openml", f"{server.base}/api/v1/xml").load(TaskRequest("openml/t/7"), online)


def test_settings_of_the_client_are_left_as_they_were(server: Server, online: Settings) -> None:
    import openml

    before = (openml.config.server, openml.config.connection_n_retries, openml._api_calls.requests)
    with pytest.raises(DataError):
        OpenMLSource("openml", f"{server.base}/api/v1/xml").load(TaskRequest("openml/t/7"), online)
    assert (openml.config.server, openml.config.connection_n_retries, openml._api_calls.requests) == before


def test_server_that_never_answers_fails_within_the_time_out(online: Settings) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"http://127.0.0.1:{silent.getsockname()[1]}/api/v1/xml"
        start = time.monotonic()
        with pytest.raises(
            DataError, match=r"did not answer within 1 s.*ASSAY_NETWORK_TIMEOUT.*ASSAY_OFFLINE=1"
        ):
            OpenMLSource("openml", address).load(TaskRequest("openml/t/7"), online)
        assert time.monotonic() - start < 10


def test_closed_port_fails_at_once(online: Settings) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    start = time.monotonic()
    with pytest.raises(DataError, match=r"cannot be reached.*Check the network"):
        OpenMLSource("openml", f"http://127.0.0.1:{port}/api/v1/xml").load(TaskRequest("openml/t/7"), online)
    assert time.monotonic() - start < 10


SUITE = f"""<oml:study {XML}><oml:id>99</oml:id><oml:main_entity_type>task</oml:main_entity_type>
<oml:name>Toys</oml:name><oml:description>All toys.</oml:description>
<oml:tasks><oml:task_id>3</oml:task_id><oml:task_id>7</oml:task_id></oml:tasks></oml:study>"""


def test_suite_is_fetched_once_and_then_read_from_the_cache(server: Server, online: Settings) -> None:
    server.answers = {"/api/v1/xml/study/99": SUITE}
    address = f"{server.base}/api/v1/xml"
    suite = load_openml_suite("openml/s/99", online, address)
    assert (suite.name, suite.tasks) == ("Toys", (3, 7))
    offline = Settings(online.cache, online.state, offline=True)
    assert load_openml_suite("openml/s/99", offline, address) == suite
    assert len(server.asked) == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (SUITE.replace(">task<", ">run<"), "a study of runs"),
        (SUITE.replace("oml:task_id", "oml:other"), "has no tasks"),
        (SUITE.replace(">3<", "><").replace(">7<", ">x<"), "has no tasks"),
        (SUITE.replace("Toys", "\ud800").replace("</oml:study>", ""), "is not XML"),
    ],
)
def test_study_without_tasks_is_no_suite(settings: Settings, text: str, message: str) -> None:
    folder = settings.cache / "openml/org/openml/www/studies"
    folder.mkdir(parents=True)
    (folder / "99.xml").write_bytes(text.encode("utf-8", "surrogatepass"))
    with pytest.raises(DataError, match=message):
        load_openml_suite("openml/s/99", settings)


def copy_shared(settings: Settings, client: str, tasks: list[int], datasets: list[int]) -> None:
    root = {"python": "openml-python/tests/files/org/openml/test", "r": "openml-r/inst/tests/cache"}[client]
    if not (SHARED / root).exists():
        pytest.skip("the reference data are not beside the project")
    target = settings.cache / "openml/org/openml/www"
    for kind, numbers in (("tasks", tasks), ("datasets", datasets)):
        for number in numbers:
            shutil.copytree(SHARED / root / kind / str(number), target / kind / str(number))
    for path in target.rglob("*.arff"):
        # The R client ended its files with a NUL byte.
        path.write_bytes(path.read_bytes().rstrip(b"\0"))


@pytest.mark.shared
def test_real_task_with_ten_repeats_has_the_folds_of_openml(settings: Settings) -> None:
    copy_shared(settings, "python", [1882], [2])
    task = resolve(TaskRequest("openml/t/1882"), settings)
    assert (task.name, task.type, len(task.folds)) == ("anneal", "multiclass", 100)
    assert task.facts["n_rows"] == 898
    data = load(task, settings)
    for repeat in range(10):
        tested = np.concatenate([test for number, _, _, test in data.splits.folds if number == repeat])
        assert np.array_equal(np.sort(tested), np.arange(898))


@pytest.mark.shared
@pytest.mark.filterwarnings("ignore::ResourceWarning")  # the client leaves the file open
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_real_folds_equal_those_that_the_client_reads(settings: Settings) -> None:
    pytest.importorskip("openml")
    from openml.tasks.split import OpenMLSplit

    copy_shared(settings, "r", [59], [61])
    task = resolve(TaskRequest("openml/t/59"), settings)
    assert (task.name, task.classes) == ("iris", ("Iris-setosa", "Iris-versicolor", "Iris-virginica"))
    theirs = OpenMLSplit._from_arff_file(settings.cache / "openml/org/openml/www/tasks/59/datasplits.arff")
    ours = load(task, settings).splits
    assert len(ours.folds) == 10
    for repeat, fold, train, test in ours.folds:
        their_train, their_test = theirs.get(repeat=repeat, fold=fold)
        assert sorted(their_train) == train.tolist()
        assert sorted(their_test) == test.tolist()


@pytest.mark.shared
@pytest.mark.parametrize(("number", "n_folds"), [(631, 10), (632, 10)])
def test_real_regression_task_is_loaded(settings: Settings, number: int, n_folds: int) -> None:
    copy_shared(settings, "r", [number], [106])
    task = resolve(TaskRequest(f"openml/t/{number}"), settings)
    assert (task.type, task.target) == ("regression", "lugs_1991")
    assert len(task.folds) >= n_folds // 2


@pytest.mark.shared
def test_two_real_tasks_on_one_dataset_share_its_data_but_not_its_folds(settings: Settings) -> None:
    copy_shared(settings, "r", [19, 20], [4])
    one, two = (resolve(TaskRequest(f"openml/t/{number}"), settings) for number in (19, 20))
    assert one.name == two.name == "balance-scale"
    assert one.data_digest == two.data_digest
    assert one.split_digest != two.split_digest
    assert len(two.folds) == 5 * 2


def test_task_that_cannot_be_fetched_can_stand_as_broken() -> None:
    assert broken(TaskRequest("openml/t/7"), "no network").id == "openml/t/7"
