// The frame of all pages: where one can go, who is signed in, and the keys that work everywhere.
import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Icon, type IconName } from "../parts/icon.tsx";
import { Brand } from "./brand.tsx";
import { addCommands } from "./keymap.ts";
import { KeySheet, Palette } from "./palette.tsx";
import { ProjectName } from "./projectmenu.tsx";
import { loadProjects } from "./projects.ts";
import { go, href, route } from "./router.ts";
import { me, signOut } from "./session.ts";
import { nextTheme, theme } from "./theme.ts";

const places: { path: string; label: string; icon: IconName; keys: string }[] = [
  { path: "sessions", label: "Sessions", icon: "session", keys: "g s" },
  { path: "completions", label: "Completions", icon: "model", keys: "g c" },
  { path: "events", label: "All events", icon: "events", keys: "g e" },
  { path: "start", label: "Get started", icon: "start", keys: "g g" },
];

export function Shell({ children }: { children: ComponentChildren }) {
  const [folded, setFolded] = useState(localStorage.getItem("spangrove.rail") === "folded" || innerWidth < 1000);
  const [dialog, setDialog] = useState<"palette" | "keys" | null>(null);
  const here = route.value.path[0] ?? "sessions";
  const fold = () => {
    localStorage.setItem("spangrove.rail", folded ? "open" : "folded");
    setFolded(!folded);
  };
  useEffect(() => addCommands([
    { id: "palette", keys: ["mod+k"], label: "Palette", group: "Everywhere", run: () => setDialog((d) => (d === "palette" ? null : "palette")) },
    ...places.map((p) => ({ id: `go-${p.path}`, keys: [p.keys], label: `Go to ${p.label}`, group: "Everywhere", run: () => go(href([p.path])) })),
    { id: "theme", keys: ["g t"], label: "Next theme: light, dark, system", group: "Everywhere", run: nextTheme },
    { id: "keys", keys: ["?", "shift+?"], label: "Keys", group: "Everywhere", run: () => setDialog("keys") },
    { id: "sign-out", keys: [], label: "Sign out", group: "Everywhere", run: () => void signOut() },
  ]), []);
  const mayPick = dialog === "palette" && me.value?.can_switch;
  useEffect(() => { if (mayPick) loadProjects().catch(() => {}); }, [mayPick]); // without them the palette has all the rest, and the menu says why
  return (
    <div class={`shell${folded ? " folded" : ""}`}>
      <a class="skip button" href="#main" onClick={(e) => { e.preventDefault(); document.getElementById("main")?.focus(); }}>To the content</a>
      <nav class="rail" aria-label="Places">
        <a class="brand" href={href(["sessions"])} aria-label="Spangrove"><Brand /><span>Spangrove</span></a>
        {places.map((p) => (
          <a key={p.path} class="place" href={href([p.path])} aria-current={here === p.path || ((here === "session" || here === "compare") && p.path === "sessions") ? "page" : undefined} aria-label={p.label} title={p.label}>
            <Icon name={p.icon} /><span>{p.label}</span><kbd aria-hidden="true">{p.keys}</kbd>
          </a>
        ))}
        <div class="grow" />
        {me.value && <ProjectName who={me.value} />}
        <div class="tools">
          <button type="button" class="button plain icon" title={`Theme: ${theme.value}`} aria-label={`Theme: ${theme.value}`} onClick={nextTheme}><Icon name={theme.value === "light" ? "sun" : theme.value === "dark" ? "moon" : "system"} small /></button>
          <button type="button" class="button plain icon" title="Keys (?)" aria-label="Keys" onClick={() => setDialog("keys")}><Icon name="help" small /></button>
          <button type="button" class="button plain icon" title="Sign out" aria-label="Sign out" onClick={() => void signOut()}><Icon name="out" small /></button>
          <button type="button" class="button plain icon rail-fold" title={folded ? "Open the rail" : "Fold the rail"} aria-label={folded ? "Open the rail" : "Fold the rail"} aria-expanded={!folded} onClick={fold}><Icon name="rail" small /></button>
        </div>
      </nav>
      <main id="main" tabIndex={-1} class="main-area">{children}</main>
      {dialog === "palette" && <Palette onClose={() => setDialog(null)} />}
      {dialog === "keys" && <KeySheet onClose={() => setDialog(null)} />}
    </div>
  );
}
