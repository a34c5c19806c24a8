// A file as datapoints: what its columns become, how the first rows would look, and which rows are wrong. All of it is stored, or nothing.
import { useMemo, useState } from "preact/hooks";
import { call } from "../../api/client.ts";
import type { DatasetExtended } from "../../api/types.gen.ts";
import { go, href } from "../../app/router.ts";
import { asDatapoint, decode, guess, maxBytes, readFile } from "../../model/datafile.ts";
import * as format from "../../model/format.ts";
import { pretty } from "../../model/raw.ts";

const targets: [string, string][] = [["inputs", "Inputs"], ["ground_truth", "Ground truth"], ["metadata", "Metadata"]];

export function Import({ dataset }: { dataset: { id: string; name: string } | null }) {
  const [source, setSource] = useState({ name: "", text: "" });
  const [to, setTo] = useState<Record<string, string>>({});
  const [name, setName] = useState("");
  const [given, setGiven] = useState(""); // the name that a file gave
  const [problem, setProblem] = useState("");
  const [busy, setBusy] = useState(false);
  const file = useMemo(() => (source.text === "" && source.name === "" ? null : readFile(source.name, source.text)), [source]);
  const target = (column: string) => to[column] ?? guess(column);
  const take = async (f: File | null | undefined) => {
    setProblem("");
    if (!f) return;
    const refuse = (why: string) => {
      setSource({ name: "", text: "" });
      setProblem(why);
    };
    if (f.size > maxBytes) return refuse(`${f.name} has ${format.bytes(f.size)}, and at most ${format.bytes(maxBytes)} are imported at once: split it.`);
    const text = decode(new Uint8Array(await f.arrayBuffer()));
    const stem = f.name.replace(/\.[^.]*$/, "");
    setTo({});
    if (text === null) return refuse(`${f.name} is not UTF-8, and its letters cannot be read. Nothing is imported: save the file as UTF-8 (spreadsheets call it “CSV UTF-8”), and choose it again.`);
    if (!dataset && name === given) { // what was typed stays
      setName(stem);
      setGiven(stem);
    }
    setSource({ name: f.name, text });
  };
  const store = async () => {
    setBusy(true);
    setProblem("");
    try {
      const made = await call<DatasetExtended>("v1/datasets/import", { method: "POST", body: {
        format: file!.format, text: source.text, columns: file!.columns.map((c) => ({ name: c, to: target(c) })), ...(dataset ? { dataset_id: dataset.id } : { name: name.trim() }),
      } });
      go(href(["datasets", made.dataset_id]));
    } catch (e) {
      setProblem(format.messageOf(e));
      setBusy(false);
    }
  };
  const first = file?.rows.slice(0, 5).map((row) => asDatapoint(row, target)) ?? [];
  const noInputs = file !== null && !file.problem && file.columns.length > 0 && !file.columns.some((c) => /^inputs(\.|$)/.test(target(c)));
  const shown = ["inputs", "ground_truth", "metadata", "history"].filter((p) => first.some((d) => d.parts[p]));
  const ready = file && !file.problem && file.bad === 0 && (dataset || name.trim() !== "") && !first.some((d) => d.message);
  return (
    <div class="page">
      <header><a href={href(["datasets"])}>Datasets</a><span class="faint">/</span>{dataset && <><a class="ellipsis" href={href(["datasets", dataset.id])}>{dataset.name}</a><span class="faint">/</span></>}<h1>Import a file</h1></header>
      <form class="import" onSubmit={(e) => { e.preventDefault(); if (ready && !busy) void store(); }} onDragOver={(e) => e.preventDefault()} onDrop={(e) => { e.preventDefault(); void take(e.dataTransfer?.files[0]); }}>
        <div class="import-head">
          <label>File, CSV or JSON lines<input class="input" type="file" accept=".csv,.tsv,.jsonl,.ndjson,.json,text/csv" onChange={(e) => void take(e.currentTarget.files?.[0])} /></label>
          <label>or its text<textarea class="input mono" rows={2} placeholder="question,answer" spellcheck={false} value={source.name === "" ? source.text : ""} onInput={(e) => { setTo({}); setSource({ name: "", text: e.currentTarget.value }); }} /></label>
          {!dataset && <label>Name of the dataset<input class="input" required maxLength={200} value={name} onInput={(e) => setName(e.currentTarget.value)} /></label>}
        </div>
        {file?.problem ? <p class="bad" role="alert">{file.problem}</p> : file && (
          <>
            <p class="secondary" role="status">{`${format.plural(file.total, "row")}, ${file.format === "csv" ? `CSV between ${{ ",": "commas", ";": "semicolons", "\t": "tabs" }[file.separator]}` : "JSON"}, ${format.plural(file.columns.length, "column")}`}{file.bad > 0 && <b class="bad">{`, ${format.plural(file.bad, "row")} wrong: nothing is imported until they are mended`}</b>}</p>
            {file.wrong.length > 0 && (
              <table class="data-table wrong-rows"><caption class="hidden-text">Rows that are wrong</caption><thead><tr><th>Row</th><th>Line</th><th>Column</th><th>What is wrong</th></tr></thead>
                <tbody>{file.wrong.slice(0, 20).map((w) => <tr key={w.row}><td>{w.row}</td><td>{w.line}</td><td>{w.column ?? ""}</td><td>{w.message}</td></tr>)}{file.bad > 20 && <tr><td colSpan={4} class="faint">{`${file.bad - 20} more`}</td></tr>}</tbody></table>
            )}
            <h2>What the columns become</h2>
            <ul class="mapping">
              {file.columns.map((c) => {
                const t = target(c), dot = t.indexOf("."), part = dot > 0 ? t.slice(0, dot) : t;
                const set = (next: string) => setTo({ ...to, [c]: next });
                return (
                  <li key={c}>
                    <span class="ellipsis" title={c}>{c}</span>
                    <select class="input" aria-label={`${c} becomes`} value={dot > 0 ? part : t === "" || t === "history" ? t : `all ${t}`} onChange={(e) => { const v = e.currentTarget.value; set(v.startsWith("all ") ? v.slice(4) : v === "" || v === "history" ? v : `${v}.${dot > 0 ? t.slice(dot + 1) : c}`); }}>
                      {targets.map(([p, label]) => <option key={p} value={p}>{label}</option>)}
                      <option value="history">History (JSON)</option>
                      {targets.map(([p, label]) => <option key={p} value={`all ${p}`}>{`All of ${label.toLowerCase()} (JSON)`}</option>)}
                      <option value="">Nothing</option>
                    </select>
                    {dot > 0 && <input class="input" aria-label={`Key of ${c}`} value={t.slice(dot + 1)} spellcheck={false} onInput={(e) => set(`${part}.${e.currentTarget.value || c}`)} />}
                  </li>
                );
              })}
            </ul>
            {noInputs && <p class="notice" role="status">No column becomes inputs: the datapoints would have none, so that an experiment has nothing to ask. Choose Inputs for a column above.</p>}
            <h2>The first rows as datapoints</h2>
            <div class="scroll-x" tabIndex={0} role="group" aria-label="The first rows"><table class="data-table"><thead><tr><th>Row</th>{shown.map((p) => <th key={p}>{p.replace("_", " ")}</th>)}</tr></thead>
              <tbody>{first.map((d, i) => <tr key={i}><td>{i + 1}</td>{d.message ? <td colSpan={shown.length} class="bad">{d.message}</td> : shown.map((p) => <td key={p}><pre>{pretty(d.parts[p] ?? "").slice(0, 600)}</pre></td>)}</tr>)}</tbody></table></div>
          </>
        )}
        {problem && <p class="bad" role="alert">{problem}</p>}
        <div class="form-end"><a class="button" href={href(dataset ? ["datasets", dataset.id] : ["datasets"])}>Cancel</a><button type="submit" class="button primary" disabled={!ready || busy}>{busy ? "Importing…" : file && file.total > 0 ? `Import ${format.plural(file.total, "row")}` : "Import"}</button></div>
      </form>
    </div>
  );
}
