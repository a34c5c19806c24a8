package check

import (
	"testing"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"
)

func load(t *testing.T, files ...string) *types.Project {
	t.Helper()
	options, err := cli.NewProjectOptions(files, cli.WithWorkingDirectory("../compose"), cli.WithResolvedPaths(true))
	if err != nil {
		t.Fatal(err)
	}
	p, err := options.LoadProject(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestCompose(t *testing.T) {
	t.Parallel()
	p := load(t, "../compose/compose.yaml", "../compose/compose.watch.yaml")
	if len(p.Services) != 4 {
		t.Fatalf("%d services", len(p.Services))
	}
	for name, s := range p.Services {
		for _, port := range s.Ports {
			if port.HostIP != "127.0.0.1" {
				t.Errorf("%s: port %s is open to other machines", name, port.Published)
			}
		}
		for _, secret := range s.Secrets {
			if p.Secrets[secret.Source].File == "" {
				t.Errorf("%s: the secret %s is in no file", name, secret.Source)
			}
		}
	}
	server, database := p.Services["spangrove"], p.Services["postgres"]
	if !server.ReadOnly || server.User != "65532:65532" || server.CapDrop[0] != "ALL" || server.HealthCheck == nil {
		t.Error("the server's container may do more than it needs")
	}
	if server.DependsOn["postgres"].Condition != types.ServiceConditionHealthy || database.HealthCheck == nil {
		t.Error("the server does not wait for the database")
	}
	for _, name := range []string{"POSTGRES_PASSWORD", "POSTGRES_HOST_AUTH_METHOD"} {
		if _, is := database.Environment[name]; is {
			t.Errorf("%s stands in the compose file", name)
		}
	}
}
