// The steps of a session one after the other, with a line of what went in and came out.
import { useEffect } from "preact/hooks";
import type { EventPreview } from "../api/types.gen.ts";
import * as format from "../model/format.ts";
import type { Step } from "../model/thread.ts";
import { Icon, TypeIcon } from "./icon.tsx";
import { reveal, useWindow } from "./table.tsx";

const stepHeight = 58;

interface Props {
  steps: Step[];
  hidden: number; // wrappers that are not shown
  selected: string | null;
  preview: (id: string) => EventPreview | undefined;
  turn: number; // another one where previews have come: what has the same properties is not drawn anew
  onVisible: (ids: string[]) => void;
  onSelect: (id: string) => void;
}

export function TranscriptView(p: Props) {
  const { ref, from, to, onScroll } = useWindow(p.steps.length, stepHeight);
  const at = p.steps.findIndex((s) => s.node.id === p.selected);
  useEffect(() => reveal(ref.current, at, stepHeight), [p.selected]);
  const visible = p.steps.slice(from, to);
  const ids = visible.map((s) => s.node.id);
  useEffect(() => p.onVisible(ids), [ids.join()]);
  return (
    <div class="transcript" ref={ref} onScroll={onScroll} tabIndex={0} role="listbox" aria-label="Steps" aria-activedescendant={at >= from && at < to ? `step-${p.selected}` : undefined}
      onKeyDown={(e) => {
        const next = { ArrowDown: p.steps[at + 1], ArrowUp: p.steps[Math.max(0, at - 1)] }[e.key];
        if (next) {
          e.preventDefault();
          p.onSelect(next.node.id);
        }
      }}>
      <div style={{ height: `${p.steps.length * stepHeight}px`, position: "relative" }}>
        {visible.map((s, i) => {
          const n = s.node;
          const preview = p.preview(n.id);
          return (
            <div key={n.id} id={`step-${n.id}`} data-event={n.id} role="option" aria-selected={n.id === p.selected} class={`step${n.id === p.selected ? " selected" : ""}`}
              style={{ top: `${(from + i) * stepHeight}px`, height: `${stepHeight}px`, paddingLeft: `${12 + Math.min(s.depth, 8) * 20}px` }} onClick={() => p.onSelect(n.id)}>
              <div class="step-head">
                <TypeIcon type={n.type} small />
                <b class="ellipsis">{n.name}</b>
                {preview?.model && <span class="faint ellipsis">{preview.model}</span>}
                {n.error && <span class="chip bad"><Icon name="alert" small />error</span>}
                {s.wrappers > 0 && <span class="faint inside">{`in ${format.plural(s.wrappers, "wrapper")}`}</span>}
                <span class="grow" />
                {n.tokens !== null && n.tokens > 0 && <span class="faint">{format.short(n.tokens)} tok</span>}
                <span class="faint">{format.duration(n.duration)}</span>
              </div>
              <div class="step-line ellipsis">{preview?.input ? <><span class="faint">in </span>{preview.input}</> : <span class="faint">{preview ? "no input" : "…"}</span>}</div>
              <div class="step-line ellipsis">{n.error ? <span class="bad">{n.error}</span> : preview?.output ? <><span class="faint">out </span>{preview.output}</> : <span class="faint">{preview ? "no output" : ""}</span>}</div>
            </div>
          );
        })}
      </div>
      {p.hidden > 0 && <p class="foot">{format.plural(p.hidden, "wrapper")} not shown; the tree has them</p>}
    </div>
  );
}
