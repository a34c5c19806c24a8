import { computed, effect } from "@preact/signals";
import { render } from "preact";
import { useEffect } from "preact/hooks";
import { forgetAll } from "./api/cache.ts";
import { projectGone, signedOut } from "./api/client.ts";
import { searchSessions } from "./api/search.ts";
import { listen } from "./app/keymap.ts";
import { go, href, route } from "./app/router.ts";
import { loadMe, me, meError } from "./app/session.ts";
import { Shell } from "./app/shell.tsx";
import "./app/theme.ts";
import { utc } from "./app/zone.ts";
import { EventsPage } from "./pages/events.tsx";
import { GonePage } from "./pages/gone.tsx";
import { LoginPage } from "./pages/login.tsx";
import { SessionPage as SessionView } from "./pages/session.tsx";
import { SessionsPage } from "./pages/sessions.tsx";
import { StartPage } from "./pages/start.tsx";
import { Empty, Problem, useLoaded } from "./parts/common.tsx";
import { later } from "./routes.tsx";

function App() {
  const { path } = route.value;
  const code = path[0] === "in" ? path[1] ?? "" : null;
  useEffect(() => { if (code === null) void loadMe(); }, []);
  if (code === null && projectGone.value) return <GonePage />;
  if (code !== null || (signedOut.value && !me.value)) return <LoginPage code={code} />;
  if (meError.value && !me.value) return <Problem error={meError.value} retry={() => void loadMe()} />;
  if (!me.value) return null;
  return <Shell><Page key={utc.value ? "UTC" : "own zone"} path={path} /></Shell>; // all times change with the zone
}

function Page({ path }: { path: string[] }) {
  const [place, id] = path[0] === "sessions" && path[1] ? ["session", path[1]] : path; // the API's name of a session leads there, too
  const project = me.value?.project.name ?? "";
  const opened = place !== undefined && Object.hasOwn(later, place) ? place : null;
  useEffect(() => { document.title = `${titles[place ?? ""] ?? later[opened ?? ""]?.title ?? "Session"} · ${project} · Spangrove`; }, [place, project]);
  switch (place) {
    case undefined: return <Home />;
    case "sessions": return <SessionsPage />;
    case "completions": return <EventsPage key="completions" completions />;
    case "events": return <EventsPage key="events" completions={false} />;
    case "start": return <StartPage />;
    case "session": if (id) return <SessionView key={id} id={id} />;
  }
  if (opened) return <Later key={opened} place={opened} path={path.slice(1)} />;
  return <div class="page"><Empty title="There is no such page"><a class="button" href={href(["sessions"])}>Sessions</a></Empty></div>;
}

const titles: Record<string, string> = { sessions: "Sessions", completions: "Completions", events: "All events", start: "Get started" };

/** A page whose code is loaded first. What cannot be loaded is of another version of the server: loading the document again gets the new one. */
function Later({ place, path }: { place: string; path: string[] }) {
  const loaded = useLoaded(place, () => later[place]!.load());
  if (loaded.error) return <Problem error={new Error("The page could not be loaded. The server may have been updated, or cannot be reached.")} retry={() => location.reload()} />;
  if (!loaded.value) return <div class="page"><div class="progress" role="progressbar" aria-label="Loading" /></div>;
  return <loaded.value.Page path={path} />;
}

/** The page of a server that was just opened: the sessions, or how to send the first one. */
function Home() {
  useEffect(() => {
    searchSessions({ limit: 1 }).then(
      (page) => go(href([page.sessions.length > 0 ? "sessions" : "start"])),
      () => go(href(["sessions"])),
    );
  }, []);
  return null;
}

// A page that is opened reads anew what may have changed since another one has read it.
const place = computed(() => route.value.path.join("/"));
effect(() => {
  void place.value;
  forgetAll();
});

listen();
render(<App />, document.getElementById("app")!);
