"""What `auto` means on which hardware, and that autocast computes in what was settled."""

import pytest
import torch

from rmtrain.errors import ConfigError
from rmtrain.model import precision
from rmtrain.model.precision import PRECISIONS, autocast, find_device, multiplies_bf16, settle

CPU = torch.device("cpu")


@pytest.mark.parametrize(
    ("avx512_bf16", "amx", "meant"),
    [(False, False, "32-true"), (True, False, "bf16-mixed"), (False, True, "bf16-mixed")],
)
def test_auto_follows_what_the_processor_multiplies(avx512_bf16, amx, meant, monkeypatch):
    monkeypatch.setattr(torch.cpu, "_is_avx512_bf16_supported", lambda: avx512_bf16)
    monkeypatch.setattr(torch.cpu, "_is_amx_tile_supported", lambda: amx)
    assert settle("auto", CPU) == meant


def test_auto_on_a_gpu_follows_the_gpu(monkeypatch):
    for supported, meant in ((True, "bf16-mixed"), (False, "32-true")):
        monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda including_emulation, found=supported: found)
        assert settle("auto", torch.device("cuda")) == meant
    assert not multiplies_bf16(torch.device("meta"))


@pytest.mark.parametrize("name", PRECISIONS)
def test_what_is_named_is_taken(name, monkeypatch):
    monkeypatch.setattr(precision, "multiplies_bf16", lambda device: False)
    assert settle(name, CPU) == name


def test_an_unknown_name_is_refused():
    with pytest.raises(ConfigError, match=r"bf16-mixd.*bf16-mixed"):
        settle("bf16-mixd", CPU)


@pytest.mark.parametrize(("name", "dtype"), [("32-true", torch.float32), ("bf16-mixed", torch.bfloat16)])
def test_products_are_of_that_precision(name, dtype):
    with autocast(CPU, name):
        assert (torch.ones(2, 2) @ torch.ones(2, 2)).dtype == dtype


def test_a_gpu_is_taken_where_there_is_one_and_it_was_not_ruled_out(monkeypatch):
    for there in (False, True):
        monkeypatch.setattr(torch.cuda, "is_available", lambda found=there: found)
        assert find_device("auto").type == ("cuda" if there else "cpu")
        assert find_device("cpu").type == "cpu"
    assert find_device("gpu").type == find_device("cuda").type == "cuda"


def test_an_apple_gpu_is_taken_where_it_is_asked_for(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: True)
    assert {name: find_device(name).type for name in ("auto", "cpu", "gpu", "mps")} == {
        "auto": "cpu",
        "cpu": "cpu",
        "gpu": "mps",
        "mps": "mps",
    }


@pytest.mark.parametrize("name", ["gpu", "cuda", "mps"])
def test_a_device_that_is_not_there_is_refused(name, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    with pytest.raises(ConfigError, match=rf"accelerator {name} is not available.*Set trainer\.accelerator to auto"):
        find_device(name)


def test_an_unknown_accelerator_is_refused():
    with pytest.raises(ConfigError, match=r"unknown accelerator 'cud'\. Known: auto, cpu, cuda.*Did you mean 'cuda'"):
        find_device("cud")
