package storetest

import "slices"

// resourceTests are those of what is no telemetry.
var resourceTests = slices.Concat(toolTests, savedChartTests, viewTests, commentTests, dashboardTests, alertTests, configurationTests, datasetTests, datapointTests, versionTests)
