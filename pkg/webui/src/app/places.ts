// Where one can go: the rail, the palette and the keys are made from this list.
import type { IconName } from "../parts/icon.tsx";

export interface Place {
  path: string; // the first part of the address
  label: string;
  icon: IconName;
  keys: string;
  also?: string[]; // pages without a place of their own that belong to this one
}

/** Groups of places, in the order of the rail. */
export const groups: { label: string; places: Place[] }[] = [
  {
    label: "Observe",
    places: [
      { path: "sessions", label: "Sessions", icon: "session", keys: "g s", also: ["session", "compare"] },
      { path: "completions", label: "Completions", icon: "model", keys: "g c" },
      { path: "events", label: "All events", icon: "events", keys: "g e" },
      { path: "dashboards", label: "Dashboards", icon: "chart", keys: "g b", also: ["charts"] },
      { path: "alerts", label: "Alerts", icon: "alert", keys: "g l" },
    ],
  },
  {
    label: "Evaluate",
    places: [
      { path: "experiments", label: "Experiments", icon: "experiment", keys: "g x" },
      { path: "datasets", label: "Datasets", icon: "dataset", keys: "g a" },
      { path: "metrics", label: "Metrics", icon: "judge", keys: "g m" },
      { path: "queues", label: "Queues", icon: "queue", keys: "g q" },
    ],
  },
  {
    label: "Build",
    places: [
      { path: "playground", label: "Playground", icon: "playground", keys: "g y" },
      { path: "configurations", label: "Configurations", icon: "configuration", keys: "g f" },
      { path: "tools", label: "Tools", icon: "tool", keys: "g o" },
    ],
  },
  {
    label: "Manage",
    places: [
      { path: "settings", label: "Settings", icon: "settings", keys: "g ," },
      { path: "start", label: "Get started", icon: "start", keys: "g g" },
    ],
  },
];

/** Those that a narrow page shows without opening the menu of all. */
export const first = ["sessions", "completions", "experiments", "queues"];
