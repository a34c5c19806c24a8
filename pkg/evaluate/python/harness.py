# Runs one evaluator over many events, inside the guest.
#
# It reads JSON objects, a line each, from file 0 and answers each of them by a line on file 1
# that begins with the token of its first line; all else on files 1 and 2 is what the evaluator
# printed. The second line names modules to import beforehand, the third has the code, and each
# further one is an event. Whatever an evaluator leaves behind when it fails is undone by the host,
# which sets the memory back to what it was before the first event.
#
# Every event finds the evaluator's module new, as if it were the only one.
import builtins
import sys
import json
import posix
import select
import time
import types

# Evaluators may replace what is in modules: what is needed here is bound before they run, and the
# functions below have built-in ones of their own.
theirs, __builtins__ = builtins.__dict__, dict(builtins.__dict__)

HEADROOM = 16 << 20


def main():
    loads, dumps, write, module_of = json.loads, json.dumps, posix.write, types.ModuleType
    function, coroutine = types.FunctionType, types.CoroutineType
    modules, stdout, stderr, exit = sys.modules, sys.stdout, sys.stderr, posix._exit
    settrace, setprofile = sys.settrace, sys.setprofile
    readline = open(0, "rb", buffering=1 << 16, closefd=False).readline
    sys.stdin = None

    def sleep(seconds):
        """time.sleep, whose own way of waiting the host does not have."""
        if seconds < 0:
            raise ValueError("sleep length must be non-negative")
        wait((), (), (), seconds)

    wait, time.sleep = select.select, sleep

    file = "evaluator.py"
    objects = ("inputs", "outputs", "feedback", "metadata", "metrics", "config")
    positions = ("outputs", "inputs", "ground_truth")

    def answer(token, text):
        for stream in (stdout, stderr):
            try:
                stream.flush()
            except BaseException:
                pass
        line = ("\n" + token + text + "\n").encode("ascii")
        while line:
            line = line[write(1, line):]

    def where(e, lines):
        """The frames of a traceback from the evaluator's first on, with its own lines."""
        out, tb = [], e.__traceback__
        while tb is not None and tb.tb_frame.f_code.co_filename != file:
            tb = tb.tb_next
        while tb is not None:
            code = tb.tb_frame.f_code
            out.append(f'  File "{code.co_filename}", line {tb.tb_lineno}, in {code.co_qualname}')
            if code.co_filename == file and 0 < tb.tb_lineno <= len(lines):
                out.append("    " + lines[tb.tb_lineno - 1].strip()[:200])
            tb = tb.tb_next
        return out if len(out) <= 20 else out[:4] + ["  ..."] + out[-16:]

    def is_a(value, kind):
        """isinstance, to which a class can lie."""
        return issubclass(type(value), kind)

    def plain(s):
        """A string of its own, of one that may be of an evaluator's class."""
        return str.__str__(s)

    def name_of(kind):
        return type.__dict__["__name__"].__get__(kind)[:200]

    def failed(e, lines):
        if isinstance(e, MemoryError):
            return {"failure": "memory"}
        try:
            text = plain(str(e))[:2000]
        except BaseException:
            text = "(its text could not be read)"
        fields = {"failure": "exception", "error": name_of(type(e)), "text": text}
        if isinstance(e, SyntaxError) and e.filename == file:
            fields["failure"] = "syntax"
            fields["text"] = str(e.msg)[:2000]
            fields["trace"] = [f'  File "{file}", line {e.lineno}'] + (["    " + e.text.strip()[:200]] if e.text else [])
        elif isinstance(e, ImportError):
            fields["failure"] = "import"
            fields["module"] = plain(e.name if is_a(e.name, str) else "")[:200]
            fields["trace"] = where(e, lines)
        else:
            if isinstance(e, RecursionError):
                fields["failure"] = "recursion"
            fields["trace"] = where(e, lines)
        return fields

    def compiled(source):
        """The code of all statements, and that of the last if it is an expression."""
        tree = compile(source, file, "exec", 0x400, dont_inherit=True)  # only parsed
        last = None
        # A text that stands alone is a comment.
        if tree.body and type(tree.body[-1]).__name__ == "Expr" and not isinstance(getattr(tree.body[-1].value, "value", None), (str, bytes, type(...))):
            last = compile(type(EXPRESSION)(tree.body.pop().value), file, "eval", dont_inherit=True)
        return compile(tree, file, "exec", dont_inherit=True), last

    EXPRESSION = compile("0", file, "eval", 0x400)

    def shape(f):
        """The names of a function's parameters, those without a default, and how many have a place."""
        while hasattr(f, "__wrapped__") and isinstance(f.__wrapped__, function):
            f = f.__wrapped__
        code = f.__code__
        names = code.co_varnames[:code.co_argcount + code.co_kwonlyargcount]
        places = names[:code.co_argcount]
        needed = places[:len(places) - len(f.__defaults__ or ())] + tuple(n for n in names[len(places):] if n not in (f.__kwdefaults__ or ()))
        return names, needed, len(places)

    def names_in(code):
        yield from code.co_names
        for c in code.co_consts:
            if isinstance(c, types.CodeType):
                yield from names_in(c)

    def evaluator(found, known, name):
        """The function to call of those that the module defines."""
        if name in found:
            return found[name]
        # A function that another one uses is its helper.
        used = {n for f in found.values() for n in names_in(f.__code__) if found.get(n) is not f}
        for some in ({n: f for n, f in found.items() if n not in used}, found):
            for fits in (lambda f: shape(f)[0][:1] == ("event",), lambda f: shape(f)[0] and all(p in known for p in shape(f)[1]), lambda f: shape(f)[0]):
                fitting = [f for f in some.values() if fits(f)]
                if fitting:
                    return fitting[-1]
        return None

    def call(f, known):
        names, needed, places = shape(f)
        args = {}
        for i, p in enumerate(names):
            if p in known:
                args[p] = known[p]
            elif p in needed and len(needed) == 1:
                args[p] = known["event"]
            elif p in needed and i < min(places, len(positions)):
                args[p] = known[positions[i]]
        if f.__code__.co_posonlyargcount:
            return f(*args.values())
        return f(**args)

    def value_of(code, last, event, name):
        """What the evaluator says of an event, and whether it says anything at all."""
        known = {k: event.get(k) if event.get(k) is not None else {} for k in objects}
        for k in objects:
            event.setdefault(k, {})
        truth = known["feedback"].get("ground_truth") if isinstance(known["feedback"], dict) else None
        known.update(event=event, event_type=event.get("event_type"), event_name=event.get("event_name"), ground_truth=truth, ground_truths=truth)
        module = module_of("evaluator")
        modules["evaluator"] = module
        space = module.__dict__
        space.update(known, __builtins__=theirs)
        exec(code, space)
        value, said = (eval(last, space), True) if last is not None else (None, False)
        if "result" in space and not isinstance(space["result"], (function, type, module_of)):
            if space["result"] is not None:
                return space["result"], True
            said = True
        if value is None:
            found = {n: f for n, f in space.items() if isinstance(f, function) and f.__module__ == "evaluator"}
            f = evaluator(found, known, name)
            if f is not None:
                value, said = call(f, known), True
        if is_a(value, coroutine):
            value = finished(value)
        return value, said

    def finished(work):
        """What an async function returns. There is no event loop: it cannot wait."""
        try:
            work.send(None)
        except StopIteration as e:
            return e.value
        work.close()
        raise RuntimeError("an async evaluator cannot wait for anything here: there is no event loop")

    def told(value):
        """The fields of an answer for a value."""
        explanation = None
        if is_a(value, dict):
            for k in ("score", "result", "value"):
                if k in value:
                    for why in ("explanation", "reason"):
                        if explanation is None and is_a(value.get(why), str):
                            explanation = value[why]
                    value = value[k]
                    break
        elif is_a(value, (tuple, list)) and len(value) == 2 and is_a(value[1], str) and not is_a(value[0], (tuple, list, dict)):
            value, explanation = value
        fields = {"type": name_of(type(value))}
        if explanation is not None:
            fields["explanation"] = plain(explanation)
        if is_a(value, bool):
            fields["bool"] = value
        elif is_a(value, int):
            fields["number"] = int.__repr__(value)
        elif is_a(value, str):
            fields["string"] = plain(value)
        elif value is not None and (is_a(value, float) or hasattr(type(value), "__float__")):
            fields["number"] = float.__repr__(float(value))
        elif value is not None:
            fields["text"] = plain(repr(value))[:200]
        return fields

    # What a usual evaluator needs is taken from the host beforehand and given back to the
    # allocator: an interpreter that has grown cannot be set back.
    open(0, "rb", buffering=HEADROOM, closefd=False)
    token = loads(readline())["token"]
    answer(token, "{}")

    for name in loads(readline())["modules"]:
        try:
            __import__(name)
        except BaseException:
            pass  # the evaluator will meet the error, if it comes to that
    answer(token, "{}")

    job = loads(readline())
    lines = job["code"].splitlines()
    try:
        code, last = compiled(job["code"])
    except BaseException as e:
        fields = failed(e, lines)
        if isinstance(e, MemoryError) and e.args:  # the parser's own bound
            fields = {"failure": "syntax", "text": str(e)}
        answer(token, dumps(fields))
        exit(0)
    answer(token, "{}")

    while True:
        line = readline()
        if not line:
            exit(0)
        try:
            event = loads(line)
            line = None
            value, said = value_of(code, last, event, job["name"])
            settrace(None)
            setprofile(None)
            text = dumps(told(value)) if said else '{"failure": "no_result"}'
        except BaseException as e:
            settrace(None)
            setprofile(None)
            text = dumps(failed(e, lines))
            e = None
        value = event = None
        answer(token, text)


main()
