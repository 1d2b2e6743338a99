"""Settings by hand: adapter.toml, environment variables, and what is wrong with them in one line."""

from __future__ import annotations

from pathlib import Path

import pytest

from adapter.settings import KEYS, Setting, SettingsError, read_settings


@pytest.fixture
def file(tmp_path):
    return tmp_path / "adapter.toml"


def test_no_file_and_no_variable_is_no_setting(file):
    assert read_settings({}, file) == {}


def test_the_file_as_it_ships_decides_nothing():
    assert read_settings({}, Path(__file__).parents[2] / "adapter.toml") == {}


def test_the_file_as_it_ships_knows_every_key_it_shows(file):
    shipped = (Path(__file__).parents[2] / "adapter.toml").read_text().splitlines()
    file.write_text(
        "\n".join(
            line.removeprefix("# ") for line in shipped if " = " in line and "ADAPTER_" not in line
        )
    )
    assert len(read_settings({}, file)) >= 15


def test_the_environment_wins_over_the_file(file):
    file.write_text("max_model_len = 100\nmax_num_seqs = 5\n")
    assert read_settings({"ADAPTER_MAX_MODEL_LEN": "200"}, file) == {
        "max_model_len": Setting(200, "ADAPTER_MAX_MODEL_LEN"),
        "max_num_seqs": Setting(5, "adapter.toml"),
    }


def test_an_empty_variable_decides_nothing(file):
    assert read_settings({"ADAPTER_DTYPE": " "}, file) == {}


def test_default_leaves_an_option_to_vllm(file):
    assert read_settings({"ADAPTER_DTYPE": "default"}, file) == {
        "dtype": Setting(None, "ADAPTER_DTYPE")
    }


def test_a_table_is_as_good_as_json(file):
    file.write_text("additional_config = { enable_cpu_binding = true }\n")
    assert read_settings({}, file)["additional_config"].value == '{"enable_cpu_binding": true}'


def test_a_list_of_arguments_keeps_its_words(file):
    file.write_text("extra_args = ['--a', 'b c', \"it's\"]\n")
    assert read_settings({}, file)["extra_args"].value == ("--a", "b c", "it's")


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("max_model_len", "0"), ("max_model_len", "-1"), ("max_model_len", "8k"), ("max_num_seqs", "1.5"),
        ("gpu_memory_utilization", "1.5"), ("gpu_memory_utilization", "0"), ("gpu_memory_utilization", "nan"),
        ("trust_remote_code", "maybe"), ("dtype", "float 16"), ("additional_config", "{"), ("additional_config", "[]"),
        ("additional_config", "1"), ("extra_args", "'unclosed"), ("tensor_parallel_size", "²"), ("node_rank", "-1"),
    ],
)  # fmt: skip
def test_a_value_that_does_not_fit_says_what_would(file, key, value):
    with pytest.raises(SettingsError) as caught:
        read_settings({f"ADAPTER_{key.upper()}": value}, file)
    assert f"ADAPTER_{key.upper()} is " in str(caught.value)
    assert "expected" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "text", ["dtype = ", "dtype = 'x", "dtipe = 'float16'", "dtype = 1979-05-27\n x", "\x00"]
)
def test_a_file_that_cannot_be_used_is_named(file, text):
    file.write_text(text)
    with pytest.raises(SettingsError, match=r"adapter\.toml"):
        read_settings({}, file)


def test_a_file_of_another_encoding_is_named(file):
    file.write_bytes("dtype = '模型'".encode("gb18030"))
    with pytest.raises(SettingsError, match=r"adapter\.toml"):
        read_settings({}, file)


def test_an_unknown_key_names_the_one_that_was_meant(file):
    file.write_text("max_model_length = 1\n")
    with pytest.raises(SettingsError, match=r"did you mean max_model_len\?$"):
        read_settings({}, file)


def test_an_unknown_key_lists_the_known_ones(file):
    file.write_text("batch = 1\n")
    with pytest.raises(SettingsError, match=", ".join(KEYS)):
        read_settings({}, file)
