// Icons as paths of 24 units, after Lucide (ISC licence). A type has its own shape, an error always an icon and a word.

const paths = {
  session: "M4 5h16v14H4z M4 10h16",
  chain: "M9 17H7A5 5 0 0 1 7 7h2 M15 7h2a5 5 0 1 1 0 10h-2 M8 12h8",
  model: "M12 3l1.9 5.6 5.6 1.9-5.6 1.9L12 18l-1.9-5.6-5.6-1.9 5.6-1.9z M19 17v4 M17 19h4",
  tool: "M14.7 6.3a1 1 0 0 0 0 1.4l1.6 1.6a1 1 0 0 0 1.4 0l3.8-3.8a6 6 0 0 1-7.9 7.9l-6.9 6.9a2.1 2.1 0 0 1-3-3l6.9-6.9a6 6 0 0 1 7.9-7.9z",
  generic: "M12 12m-8 0a8 8 0 1 0 16 0a8 8 0 1 0-16 0",
  judge: "M12 3v18 M5 7l14-2 M5 7l-3 7h6z M19 5l-3 7h6z M8 21h8",
  search: "M11 11m-7 0a7 7 0 1 0 14 0a7 7 0 1 0-14 0 M21 21l-4.3-4.3",
  events: "M8 6h13 M8 12h13 M8 18h13 M3 6h.01 M3 12h.01 M3 18h.01",
  plus: "M12 5v14 M5 12h14",
  close: "M18 6 6 18 M6 6l12 12",
  right: "m9 6 6 6-6 6",
  down: "m6 9 6 6 6-6",
  up: "m6 15 6-6 6 6",
  copy: "M9 9h11v11H9z M5 15H4V4h11v1",
  check: "M20 6 9 17l-5-5",
  alert: "M12 3 2 20h20z M12 10v4 M12 17h.01",
  sun: "M12 12m-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0 M12 2v2 M12 20v2 M4.9 4.9l1.4 1.4 M17.7 17.7l1.4 1.4 M2 12h2 M20 12h2 M4.9 19.1l1.4-1.4 M17.7 6.3l1.4-1.4",
  moon: "M12 3a6 6 0 0 0 9 9 9 9 0 1 1-9-9",
  system: "M3 4h18v12H3z M8 20h8 M12 16v4",
  out: "M9 21H5V3h4 M16 17l5-5-5-5 M21 12H9",
  live: "M12 12m-2 0a2 2 0 1 0 4 0a2 2 0 1 0-4 0 M16.2 7.8a6 6 0 0 1 0 8.4 M7.8 16.2a6 6 0 0 1 0-8.4",
  pause: "M8 5v14 M16 5v14",
  columns: "M4 4h16v16H4z M10 4v16 M15 4v16",
  download: "M12 4v11 M7 10l5 5 5-5 M5 20h14",
  fold: "M4 12h16 M8 5l4 4 4-4 M8 19l4-4 4 4",
  link: "M10 13a5 5 0 0 0 7.5.5l3-3a5 5 0 0 0-7-7l-1.7 1.7 M14 11a5 5 0 0 0-7.5-.5l-3 3a5 5 0 0 0 7 7l1.7-1.7",
  thumbUp: "M7 10v11H3V10z M7 10l4-7a3 3 0 0 1 3 3v3h6l-2 12H7",
  thumbDown: "M17 14V3h4v11z M17 14l-4 7a3 3 0 0 1-3-3v-3H4L6 3h11",
  dataset: "M12 6m-8 0a8 3 0 1 0 16 0a8 3 0 1 0-16 0 M4 6v12c0 1.7 3.6 3 8 3s8-1.3 8-3V6 M4 12c0 1.7 3.6 3 8 3s8-1.3 8-3",
  trash: "M4 7h16 M9 7V4h6v3 M6 7l1 14h10l1-14",
  rail: "M4 4h16v16H4z M9 4v16",
  help: "M12 12m-9 0a9 9 0 1 0 18 0a9 9 0 1 0-18 0 M9.5 9.3a2.6 2.6 0 0 1 5 .7c0 1.7-2.5 2-2.5 3.6 M12 17h.01",
  start: "M5 4v16l14-8z",
  configuration: "M8 3H7a2 2 0 0 0-2 2v5a2 2 0 0 1-2 2 2 2 0 0 1 2 2v5c0 1.1.9 2 2 2h1 M16 21h1a2 2 0 0 0 2-2v-5c0-1.1.9-2 2-2a2 2 0 0 1-2-2V5a2 2 0 0 0-2-2h-1",
  playground: "M4 5h7v14H4z M14 5h6 M14 9h6 M14 13h4 M14 17h5",
  settings: "M4 7h10 M18 7h2 M4 17h2 M10 17h10 M16 7m-2 0a2 2 0 1 0 4 0a2 2 0 1 0-4 0 M8 17m-2 0a2 2 0 1 0 4 0a2 2 0 1 0-4 0",
  chart: "M4 4v16h16 M8 16v-5 M12 16V8 M16 16v-3",
  reload: "M20 11a8 8 0 1 0-2.3 6.3 M20 4v7h-7",
  more: "M5 12h.01 M12 12h.01 M19 12h.01",
  queue: "M3 5h12 M3 12h8 M3 19h8 M15 16l2.5 2.5L22 13",
  comment: "M4 5h16v11H9l-5 4z",
  experiment: "M9 3h6 M10 3v6L4.5 18.5A1.7 1.7 0 0 0 6 21h12a1.7 1.7 0 0 0 1.5-2.5L14 9V3 M7.5 15h9",
  project: "M12 3 3 8l9 5 9-5z M3 12.5l9 5 9-5 M3 17l9 5 9-5",
} as const;

export type IconName = keyof typeof paths;

/** An icon. Without a label it is decoration, which screen readers pass over. */
export function Icon({ name, small, label, tint }: { name: IconName; small?: boolean; label?: string; tint?: string }) {
  return (
    <svg class={`glyph${small ? " small" : ""}${tint ? ` ${tint}` : ""}`} viewBox="0 0 24 24" role={label ? "img" : undefined} aria-label={label} aria-hidden={label ? undefined : "true"}>
      <path d={paths[name]} />
    </svg>
  );
}

/** The path of an icon, of 24 units. */
export function iconPath(name: IconName): string {
  return paths[name];
}

/** The name of the icon of an event's type. */
export function typeIcon(type: string): IconName {
  return Object.hasOwn(paths, type) ? (type as IconName) : "generic";
}

/** The icon of an event's type, in its colour. */
export function TypeIcon({ type, small }: { type: string; small?: boolean }) {
  return <Icon name={typeIcon(type)} small={small} tint={`type-${type}`} label={type} />;
}
