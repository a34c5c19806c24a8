package scenario_test

import (
	"os"
	"testing"

	"github.com/spangrove/spangrove/e2e/inprocess"
	"github.com/spangrove/spangrove/e2e/scenario"
)

func TestScenarios(t *testing.T) {
	inprocess.EachStore(t, func(t *testing.T, url string) {
		scenario.Run(t, url, inprocess.Key, os.DirFS("../../pkg/httpapi/testdata"), "../../pkg/httpapi/openapi.yaml")
	})
}
