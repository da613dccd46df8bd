"""Messages that others publish, by the descriptors in their packages: the classes of these packages want other versions of protobuf
than the one that is installed."""
import ast
import importlib.util
import pathlib

from google.protobuf import descriptor_pool, message_factory


def _descriptor(path):
    """The bytes that the module gives to AddSerializedFile()."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "AddSerializedFile":
            return ast.literal_eval(node.args[0])
    raise ValueError(f"{path} has no descriptor")


def message_class(package, folder, files, name):
    """The class of a message of `files`, which are in the folder of the package; None where that is not installed."""
    found = importlib.util.find_spec(package)
    folders = [pathlib.Path(place) / folder for place in found.submodule_search_locations] if found else []
    there = next((each for each in folders if (each / files[-1]).exists()), None)
    if there is None:
        return None
    pool = descriptor_pool.DescriptorPool()
    for file in files:
        pool.AddSerializedFile(_descriptor(there / file))
    return message_factory.MessageFactory(pool).GetPrototype(pool.FindMessageTypeByName(name))


def profiles_data():
    """ProfilesData of OTLP."""
    return message_class("opentelemetry", "proto", ("common/v1/common_pb2.py", "resource/v1/resource_pb2.py",
                         "profiles/v1development/profiles_pb2.py"), "opentelemetry.proto.profiles.v1development.ProfilesData")


def perfetto_trace():
    """Trace of Perfetto."""
    return message_class("perfetto", "protos/perfetto/trace", ("perfetto_trace_pb2.py",), "perfetto.protos.Trace")
