"""What the instrumented programs do: the same calls of PyPI `openai`, whoever watches.

OPENAI_BASE_URL and OPENAI_API_KEY say which server answers.
"""

import json

import openai

MODEL = "gpt-4o-mini"
WEATHER = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "The weather in a city",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}


def get_weather(city):
    return f"21 degrees in {city}"


def chat(client):
    got = client.chat.completions.create(
        model=MODEL,
        temperature=0.2,
        max_tokens=50,
        messages=[
            {"role": "system", "content": "You are terse."},
            {"role": "user", "content": "What is the capital of Portugal?"},
        ],
    )
    assert got.choices[0].message.content == "Lisbon.", got


def stream(client):
    chunks = client.chat.completions.create(
        model=MODEL,
        stream=True,
        stream_options={"include_usage": True},
        messages=[{"role": "user", "content": "Count to three."}],
    )
    text = "".join(c.choices[0].delta.content or "" for c in chunks if c.choices)
    assert text == "One, two, three.", text


def tool(client, run):
    """The model calls the tool, which `run` runs, and then answers."""
    messages = [{"role": "user", "content": "What is the weather in Oslo?"}]
    first = client.chat.completions.create(model=MODEL, messages=messages, tools=[WEATHER]).choices[0].message
    call = first.tool_calls[0]
    messages.append({"role": "assistant", "tool_calls": [call.model_dump()]})
    result = run(call.function.name, json.loads(call.function.arguments))
    messages.append({"role": "tool", "tool_call_id": call.id, "content": result})
    got = client.chat.completions.create(model=MODEL, messages=messages, tools=[WEATHER])
    assert got.choices[0].message.content == "The tool says: 21 degrees in Oslo", got


def error(client):
    try:
        client.chat.completions.create(model="broken", messages=[{"role": "user", "content": "Hello?"}])
    except openai.RateLimitError:
        return
    raise AssertionError("the broken model answered")


def embeddings(client):
    got = client.embeddings.create(model="text-embedding-3-small", input=["red apples", "green pears"])
    assert len(got.data) == 2, got


def responses(client):
    got = client.responses.create(model=MODEL, instructions="You are terse.", input="What is the capital of Portugal?")
    assert got.output_text == "Lisbon.", got


def all_calls(step, run=lambda name, arguments: get_weather(**arguments)):
    """Every call, in a span of its own that step(name) opens; `run` runs the tool."""
    client = openai.OpenAI(max_retries=0)
    with step("ask"):
        chat(client)
    with step("ask streaming"):
        stream(client)
    with step("ask with tool"):
        tool(client, run)
    with step("ask broken"):
        error(client)
    with step("embed"):
        embeddings(client)
    with step("ask responses"):
        responses(client)
