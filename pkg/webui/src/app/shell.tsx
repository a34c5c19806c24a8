// The frame of all pages: where one can go, who is signed in, and the keys that work everywhere.
import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useState } from "preact/hooks";
import { signedOut } from "../api/client.ts";
import { useWork } from "../parts/form.tsx";
import { Icon } from "../parts/icon.tsx";
import { Brand } from "./brand.tsx";
import { addCommands } from "./keymap.ts";
import { KeySheet, Palette } from "./palette.tsx";
import { first, groups, type Place } from "./places.ts";
import { ProjectName } from "./projectmenu.tsx";
import { loadProjects } from "./projects.ts";
import { go, href, route } from "./router.ts";
import { me } from "./session.ts";
import { SignedOut } from "./signedout.tsx";
import { signOut } from "./signin.ts";
import { nextTheme, theme } from "./theme.ts";

/** The groups that have places. */
const shown = groups.filter((g) => g.places.length > 0);

/** Reports whether a place is where one is. */
const isHere = (p: Place, here: string) => here === p.path || p.also?.includes(here);

function PlaceLink({ place: p, here, menu }: { place: Place; here: string; menu?: boolean }) {
  return (
    <a class={`place${menu || first.includes(p.path) ? "" : " wide-only"}`} href={href([p.path])} aria-current={isHere(p, here) ? "page" : undefined} title={p.label}
      onClick={menu ? (e) => e.currentTarget.closest<HTMLElement>("[popover]")?.hidePopover() : undefined}>
      <Icon name={p.icon} /><span>{p.label}</span><kbd aria-hidden="true">{p.keys}</kbd>
    </a>
  );
}

export function Shell({ children }: { children: ComponentChildren }) {
  const [folded, setFolded] = useState(localStorage.getItem("spangrove.rail") === "folded" || innerWidth < 1000);
  const [dialog, setDialog] = useState<"palette" | "keys" | null>(null);
  const out = useWork();
  const here = route.value.path[0] ?? "sessions";
  const leave = () => void out.run(signOut);
  const fold = () => {
    localStorage.setItem("spangrove.rail", folded ? "open" : "folded");
    setFolded(!folded);
  };
  useLayoutEffect(() => addCommands([
    { id: "palette", keys: ["mod+k"], label: "Palette", group: "Everywhere", run: () => setDialog((d) => (d === "palette" ? null : "palette")) },
    ...shown.flatMap((g) => g.places).map((p) => ({ id: `go-${p.path}`, keys: [p.keys], label: `Go to ${p.label}`, group: "Everywhere", run: () => go(href([p.path])) })),
    { id: "theme", keys: ["g t"], label: "Next theme: light, dark, system", group: "Everywhere", run: nextTheme },
    { id: "keys", keys: ["?", "shift+?"], label: "Keys", group: "Everywhere", run: () => setDialog("keys") },
    { id: "sign-out", keys: [], label: "Sign out", group: "Everywhere", run: leave },
  ]), []);
  const mayPick = dialog === "palette" && me.value?.can_switch;
  useEffect(() => { if (mayPick) loadProjects().catch(() => {}); }, [mayPick]); // without them the palette has all the rest, and the menu says why
  return (
    <div class={`shell${folded ? " folded" : ""}`}>
      <a class="skip button" href="#main" onClick={(e) => { e.preventDefault(); document.getElementById("main")?.focus(); }}>To the content</a>
      <nav class="rail" aria-label="Places">
        <a class="brand" href={href(["sessions"])} aria-label="Spangrove"><Brand /><span>Spangrove</span></a>
        <div class="places">
          {shown.map((g) => (
            <div key={g.label} class="group" role="group" aria-label={g.label}>
              <div class="label" aria-hidden="true">{g.label}</div>
              {g.places.map((p) => <PlaceLink key={p.path} place={p} here={here} />)}
            </div>
          ))}
        </div>
        <button type="button" class="place more" popoverTarget="all-places"><Icon name="columns" /><span>More</span></button>
        <div id="all-places" popover="auto" class="menu all-places" aria-label="All pages">
          {shown.map((g) => <div key={g.label} role="group" aria-label={g.label}><div class="label" aria-hidden="true">{g.label}</div>{g.places.map((p) => <PlaceLink key={p.path} place={p} here={here} menu />)}</div>)}
        </div>
        <div class="grow" />
        {me.value && <ProjectName who={me.value} />}
        <div class="tools">
          <button type="button" class="button plain icon" title={`Theme: ${theme.value}`} aria-label={`Theme: ${theme.value}`} onClick={nextTheme}><Icon name={theme.value === "light" ? "sun" : theme.value === "dark" ? "moon" : "system"} small /></button>
          <button type="button" class="button plain icon" title="Keys (?)" aria-label="Keys" onClick={() => setDialog("keys")}><Icon name="help" small /></button>
          <button type="button" class="button plain icon" title="Sign out" aria-label="Sign out" onClick={leave}><Icon name="out" small /></button>
          <button type="button" class="button plain icon rail-fold" title={folded ? "Open the rail" : "Fold the rail"} aria-label={folded ? "Open the rail" : "Fold the rail"} aria-expanded={!folded} onClick={fold}><Icon name="rail" small /></button>
        </div>
      </nav>
      <main id="main" tabIndex={-1} class="main-area">{children}</main>
      {out.problem && <p class="notice bad over" role="alert">{`You are still signed in: ${out.problem}`} <button type="button" class="button" onClick={leave}>Sign out</button> <button type="button" class="button" onClick={() => void out.run(async () => {})}>Stay</button></p>}
      {signedOut.value && <SignedOut />}
      {dialog === "palette" && <Palette onClose={() => setDialog(null)} />}
      {dialog === "keys" && <KeySheet onClose={() => setDialog(null)} />}
    </div>
  );
}
