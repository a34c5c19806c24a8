// The pages that are loaded when they are opened.
import type { ComponentType } from "preact";

export interface Page {
  title: string;
  load: () => Promise<{ Page: ComponentType<{ path: string[] }> }>; // path is what follows in the address: of "#/datasets/x" it is ["x"]
}

/** Pages by the first part of their address. */
export const later: Record<string, Page> = {
  charts: { title: "Chart", load: () => import("./pages/dashboards/builder.tsx") },
  dashboards: { title: "Dashboards", load: () => import("./pages/dashboards/boards.tsx") },
  metrics: { title: "Metrics", load: () => import("./pages/metrics/index.tsx") },
  datasets: { title: "Datasets", load: () => import("./pages/datasets/page.tsx") },
  alerts: { title: "Alerts", load: () => import("./pages/alerts/index.tsx") },
  compare: { title: "Compare", load: () => import("./pages/compare.tsx") },
  configurations: { title: "Configurations", load: () => import("./pages/build/configurations.tsx") },
  tools: { title: "Tools", load: () => import("./pages/build/tools.tsx") },
  playground: { title: "Playground", load: () => import("./pages/playground/index.tsx") },
  settings: { title: "Settings", load: () => import("./pages/settings/index.tsx") },
  queues: { title: "Queues", load: () => import("./pages/queues.tsx") },
  experiments: { title: "Experiments", load: () => import("./pages/experiments/index.tsx") },
};
