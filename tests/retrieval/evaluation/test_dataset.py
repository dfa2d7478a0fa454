"""A dataset is read whole or refused with every file, line and reason."""

from __future__ import annotations

import pytest

from retrieval.evaluation.dataset import read
from retrieval.evaluation.errors import BadDataset
from tests.retrieval.evaluation.conftest import CORPUS, QRELS, QUERIES, Folder, as_json


def refusal(folder: Folder) -> str:
    with pytest.raises(BadDataset) as caught:
        read(folder.path)
    return caught.value.message


def test_a_good_dataset_is_read_with_its_history(folder: Folder) -> None:
    dataset = read(folder.path)
    assert dataset.name == "tiny"
    assert [row.id for row in dataset.corpus] == ["iade", "kargo", "magaza", "taksit"]
    assert [question.id for question in dataset.questions] == ["q1", "q2", "q3"]
    assert dataset.questions[0].relevant == {"iade"}
    assert dataset.questions[2].history == ({"role": "user", "content": "Mağaza açık mı?"},)


def test_questions_without_a_relevant_passage_are_skipped_and_counted(folder: Folder) -> None:
    folder.queries([*QUERIES, {"_id": "q5", "text": "Kimse bilmez?"}])
    assert read(folder.path).skipped == 2


@pytest.mark.parametrize("name", ["corpus.jsonl", "queries.jsonl", "qrels.tsv"])
def test_a_missing_file_is_named(folder: Folder, name: str) -> None:
    (folder.path / name).unlink()
    assert f"{folder.path / name}" in refusal(folder)


def test_a_missing_folder_is_refused(folder: Folder) -> None:
    with pytest.raises(BadDataset, match=r"There is no folder .*nowhere") as refused:
        read(folder.path / "nowhere")
    assert "corpus.jsonl" not in str(refused.value)


def test_broken_json_is_named_by_its_line(folder: Folder) -> None:
    folder.write("corpus.jsonl", as_json(CORPUS[0]), '{"_id": "kargo", "text": ')
    said = refusal(folder)
    assert "corpus.jsonl:2: is not JSON: Expecting value at column 26" in said
    assert "line 1" not in said


def test_a_line_that_is_no_object_is_refused(folder: Folder) -> None:
    folder.write("queries.jsonl", as_json(QUERIES[0]), '["q2", "text"]')
    assert "queries.jsonl:2: is not a JSON object" in refusal(folder)


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ({"_id": "x", "text": "  "}, "'x': text is empty"),
        ({"_id": "x"}, "'x': text is missing"),
        ({"_id": "x", "text": 5}, "'x': text is missing or is not text"),
        ({"text": "Ne?"}, "_id must be text"),
        ({"_id": 7, "text": "Ne?"}, "_id must be text"),
        ({"_id": "x", "text": "Ne\0?"}, "characters that are not text"),
        ({"_id": "x", "text": "\ud800 ne"}, "characters that are not text"),
        ({"_id": "iade", "text": "Yine."}, "_id 'iade' stands on line 1 already"),
        ({"_id": "x", "title": ["a"], "text": "Ne?"}, "'x': title is not text"),
    ],
)
def test_a_bad_row_is_named_by_its_line(folder: Folder, row: dict, reason: str) -> None:
    import json

    folder.write("corpus.jsonl", *map(as_json, CORPUS), json.dumps(row))
    message = refusal(folder)
    assert "corpus.jsonl:5: " in message
    assert reason in message


@pytest.mark.parametrize("text", ["???", "a" * 3000])
def test_a_question_that_retrieval_would_refuse_is_refused_at_once(
    folder: Folder, text: str
) -> None:
    folder.queries([*QUERIES, {"_id": "q9", "text": text}])
    assert "queries.jsonl:5: q9: The question" in refusal(folder)


def test_a_history_that_is_no_list_of_turns_is_refused(folder: Folder) -> None:
    folder.queries([*QUERIES, {"_id": "q9", "text": "Ne?", "history": "before"}])
    assert "queries.jsonl:5: q9: history" in refusal(folder)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("q9\tiade\t1", "query 'q9' is not in queries.jsonl"),
        ("q1\tnone\t1", "passage 'none' is not in corpus.jsonl"),
        ("q1\tiade\tyes", "score 'yes' is not a whole number"),
        ("q1 iade 1", "has 1 columns instead of 3"),
        ("q1\tiade\t1", "the same pair stands on line 2"),
    ],
)
def test_a_bad_judgement_is_named_by_its_line(folder: Folder, line: str, reason: str) -> None:
    rows = ["\t".join(map(str, row)) for row in QRELS]
    folder.write("qrels.tsv", "query-id\tcorpus-id\tscore", *rows, line)
    message = refusal(folder)
    assert "qrels.tsv:6: " in message
    assert reason in message


def test_wrong_columns_are_refused(folder: Folder) -> None:
    folder.write("qrels.tsv", "question\tdocument", "q1\tiade")
    assert "qrels.tsv:1: the columns must be query-id, corpus-id, score" in refusal(folder)


def test_bytes_that_are_not_utf8_are_named_by_their_line(folder: Folder) -> None:
    good = as_json(CORPUS[0]).encode()
    (folder.path / "corpus.jsonl").write_bytes(good + b"\n" + "Mağaza".encode("cp1254") + b"\n")
    assert "corpus.jsonl:2: is not UTF-8" in refusal(folder)


@pytest.mark.parametrize("name", ["corpus.jsonl", "queries.jsonl", "qrels.tsv"])
def test_an_empty_file_is_refused(folder: Folder, name: str) -> None:
    folder.write(name)
    assert name in refusal(folder)


def test_every_fault_is_told_at_once_up_to_a_bound(folder: Folder) -> None:
    folder.write("corpus.jsonl", *["{"] * 30)
    message = refusal(folder)
    assert "corpus.jsonl:20:" in message
    assert "corpus.jsonl:21:" not in message
    assert "more" in message


def test_the_faults_of_all_files_are_told_at_once(folder: Folder) -> None:
    folder.write("corpus.jsonl", *["{"] * 30)
    (folder.path / "queries.jsonl").unlink()
    folder.write("qrels.tsv", "query-id\tcorpus-id\tscore", "q1\tiade\t1", "q1\tiade\tyes")
    message = refusal(folder)
    assert "corpus.jsonl:20: is not JSON" in message and "and 10 more" in message
    assert f"Missing: {folder.path / 'queries.jsonl'}" in message
    assert "qrels.tsv:3: score 'yes' is not a whole number" in message
    assert "qrels.tsv:2" not in message  # it names what another file may hold


def test_an_empty_file_is_told_beside_a_broken_one(folder: Folder) -> None:
    folder.write("corpus.jsonl", "{")
    folder.write("queries.jsonl")
    message = refusal(folder)
    assert "corpus.jsonl:1: is not JSON" in message
    assert "queries.jsonl:1: the file holds no rows" in message


def test_a_byte_order_mark_is_no_fault(folder: Folder) -> None:
    file = folder.path / "qrels.tsv"
    file.write_bytes(b"\xef\xbb\xbf" + file.read_bytes())
    assert len(read(folder.path).questions) == 3
