package e2e

import (
	"testing"

	"github.com/spangrove/spangrove/e2e/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }
