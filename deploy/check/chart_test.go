package check

import (
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/lint"
	"helm.sh/helm/v3/pkg/lint/support"
	apps "k8s.io/api/apps/v1"
	autoscaling "k8s.io/api/autoscaling/v2"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	policy "k8s.io/api/policy/v1"
	"sigs.k8s.io/yaml"
)

const chartDir = "../helm/spangrove"

var kubernetes = chartutil.KubeVersion{Version: "v1.30.0", Major: "1", Minor: "30"}

// manifests are what a chart renders to, decoded strictly: a field that Kubernetes does not know is an error.
type manifests struct {
	deployment *apps.Deployment
	services   []*core.Service
	account    *core.ServiceAccount
	claim      *core.PersistentVolumeClaim
	policy     *networking.NetworkPolicy
	budget     *policy.PodDisruptionBudget
	autoscaler *autoscaling.HorizontalPodAutoscaler
	ingress    *networking.Ingress
	others     []string
	notes      string
}

func render(values string) (manifests, error) {
	var m manifests
	var given map[string]any
	if err := yaml.Unmarshal([]byte(values), &given); err != nil {
		return m, err
	}
	c, err := loader.Load(chartDir)
	if err != nil {
		return m, err
	}
	caps := *chartutil.DefaultCapabilities
	caps.KubeVersion = kubernetes
	all, err := chartutil.ToRenderValues(c, given, chartutil.ReleaseOptions{Name: "grove", Namespace: "observability", IsInstall: true}, &caps)
	if err != nil {
		return m, err
	}
	files, err := engine.Render(c, all)
	if err != nil {
		return m, err
	}
	for name, text := range files {
		if strings.HasSuffix(name, ".txt") {
			m.notes += text
			continue
		}
		for _, doc := range strings.Split(text, "\n---\n") {
			var kind struct{ Kind string }
			if err := yaml.Unmarshal([]byte(doc), &kind); err != nil {
				return m, err
			}
			into := map[string]func() any{
				"Deployment":              func() any { m.deployment = new(apps.Deployment); return m.deployment },
				"Service":                 func() any { s := new(core.Service); m.services = append(m.services, s); return s },
				"ServiceAccount":          func() any { m.account = new(core.ServiceAccount); return m.account },
				"PersistentVolumeClaim":   func() any { m.claim = new(core.PersistentVolumeClaim); return m.claim },
				"NetworkPolicy":           func() any { m.policy = new(networking.NetworkPolicy); return m.policy },
				"PodDisruptionBudget":     func() any { m.budget = new(policy.PodDisruptionBudget); return m.budget },
				"HorizontalPodAutoscaler": func() any { m.autoscaler = new(autoscaling.HorizontalPodAutoscaler); return m.autoscaler },
				"Ingress":                 func() any { m.ingress = new(networking.Ingress); return m.ingress },
			}[kind.Kind]
			switch {
			case kind.Kind == "":
			case into == nil:
				m.others = append(m.others, kind.Kind)
			default:
				if err := yaml.UnmarshalStrict([]byte(doc), into()); err != nil {
					return m, err
				}
			}
		}
	}
	return m, nil
}

const onPostgres = `
database: postgres
replicaCount: 3
postgres: { dsnSecret: { name: pg, key: uri }, directDsnSecret: { name: pg, key: direct }, readDsnSecret: { name: pg, key: replica } }
apiKeySecret: { name: keys, key: admin }
encryptionSecret: { name: keys, key: encryption }
providerSecrets: { openai: { name: keys, key: openai } }
`

// TestChartSafe checks what holds whatever the values are.
func TestChartSafe(t *testing.T) {
	t.Parallel()
	for name, values := range map[string]string{"sqlite": "", "postgres": onPostgres} {
		m, err := render(values)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		pod := m.deployment.Spec.Template.Spec
		c := pod.Containers[0]
		switch {
		case *m.account.AutomountServiceAccountToken || *pod.AutomountServiceAccountToken:
			t.Errorf("%s: a token of Kubernetes is mounted", name)
		case !*pod.SecurityContext.RunAsNonRoot || *pod.SecurityContext.RunAsUser != 65532 || !*c.SecurityContext.ReadOnlyRootFilesystem ||
			*c.SecurityContext.AllowPrivilegeEscalation || c.SecurityContext.Capabilities.Drop[0] != "ALL":
			t.Errorf("%s: the container has privileges", name)
		case c.LivenessProbe.HTTPGet.Path != "/livez" || c.ReadinessProbe.HTTPGet.Path != "/readyz" || c.StartupProbe == nil:
			t.Errorf("%s: probes", name)
		case m.policy == nil || m.budget == nil:
			t.Errorf("%s: no network policy or disruption budget", name)
		}
		for _, e := range c.Env {
			if strings.HasSuffix(e.Name, "_KEY") || strings.HasSuffix(e.Name, "_DSN") || strings.HasSuffix(e.Name, "_SECRET") || e.ValueFrom != nil {
				t.Errorf("%s: %s is a secret in the environment", name, e.Name)
			}
		}
		for _, s := range m.services {
			for _, p := range s.Spec.Ports {
				if p.Port == 8888 && s.Spec.Type != core.ServiceTypeClusterIP {
					t.Errorf("%s: metrics are served by a service of type %s", name, s.Spec.Type)
				}
			}
		}
	}
}

func TestChartSQLite(t *testing.T) {
	t.Parallel()
	m, err := render("")
	if err != nil {
		t.Fatal(err)
	}
	d := m.deployment.Spec
	if m.claim == nil || *d.Replicas != 1 || d.Strategy.Type != apps.RecreateDeploymentStrategyType || d.Template.Spec.Volumes[0].PersistentVolumeClaim == nil {
		t.Error("SQLite is not one replica with a volume")
	}
	if m, err = render("persistence: { existingClaim: mine }"); err != nil || m.claim != nil ||
		m.deployment.Spec.Template.Spec.Volumes[0].PersistentVolumeClaim.ClaimName != "mine" {
		t.Errorf("a claim that is there is not used: %v", err)
	}
}

func TestChartPostgres(t *testing.T) {
	t.Parallel()
	m, err := render(onPostgres + `
autoscaling: { enabled: true, queueBytes: 8388608 }
metrics: { serviceMonitor: { enabled: true } }
ingress: { enabled: true, host: grove.example, tlsSecret: web }
tls: { secretName: inside }
limits: { maxBodyMiB: 30, queueMiB: 128 }
networkPolicy: { to: [{ ipBlock: { cidr: 10.0.0.0/8 } }], from: [{ namespaceSelector: {} }] }
shutdownDelaySeconds: 60
`)
	if err != nil {
		t.Fatal(err)
	}
	d := m.deployment.Spec
	env := map[string]string{}
	for _, e := range d.Template.Spec.Containers[0].Env {
		env[e.Name] = e.Value
	}
	for name, want := range map[string]string{
		"SPANGROVE_POSTGRES_DSN_FILE": "/secrets/postgres-dsn", "SPANGROVE_POSTGRES_DIRECT_DSN_FILE": "/secrets/postgres-direct-dsn",
		"SPANGROVE_POSTGRES_READ_DSN_FILE": "/secrets/postgres-read-dsn", "SPANGROVE_API_KEY_FILE": "/secrets/api-key", "SPANGROVE_SECRET_FILE": "/secrets/secret",
		"OPENAI_API_KEY_FILE": "/secrets/openai", "SPANGROVE_MAX_BODY_MIB": "30", "SPANGROVE_QUEUE_MIB": "128", "SPANGROVE_SHUTDOWN_DELAY": "60s",
		"SPANGROVE_TLS_CERT_FILE": "/tls/tls.crt", "GEMINI_API_KEY_FILE": "",
	} {
		if env[name] != want {
			t.Errorf("%s = %q, want %q", name, env[name], want)
		}
	}
	if m.claim != nil || d.Replicas != nil || d.Template.Spec.Volumes[0].EmptyDir == nil || *d.Template.Spec.TerminationGracePeriodSeconds != 90 {
		t.Error("PostgreSQL has a volume, a fixed number of replicas, or too little time to end")
	}
	if got := m.autoscaler.Spec.Metrics; len(got) != 2 || got[0].Resource.Name != "cpu" || got[1].Pods.Metric.Name != "spangrove_store_queue_bytes" ||
		got[1].Pods.Target.AverageValue.Value() != 8<<20 {
		t.Errorf("autoscaling by %+v", got)
	}
	if d.Template.Spec.Containers[0].ReadinessProbe.HTTPGet.Scheme != core.URISchemeHTTPS {
		t.Error("probes do not speak TLS")
	}
	if m.ingress == nil || len(m.others) != 1 || m.others[0] != "ServiceMonitor" {
		t.Errorf("no ingress, or others: %q", m.others)
	}
	if len(m.policy.Spec.Egress) != 2 || len(m.policy.Spec.Ingress[0].From) != 1 {
		t.Errorf("network policy %+v", m.policy.Spec)
	}
}

// TestChartRefuses checks that what cannot work is refused before anything is installed, by the name of the value.
func TestChartRefuses(t *testing.T) {
	t.Parallel()
	for values, want := range map[string]string{
		"replicaCount: 2":                                     "replicaCount: SQLite is one server's",
		"autoscaling: { enabled: true }":                      "autoscaling.enabled: SQLite is one server's",
		"database: postgres":                                  "postgres.dsnSecret.name: database is postgres",
		"postgres: { readDsnSecret: { name: pg, key: uri } }": "postgres.readDsnSecret.name: database is sqlite",
		"database: mysql":                                     "database",
		"replicas: 2":                                         "replicas",
		"memoryLimitMiB: 100":                                 "memoryLimitMiB",
		"log: { level: loud }":                                "level",
		"persistence: { size: much }":                         "size",
		"ingress: { enabled: true }":                          "ingress.host: must not be empty",
		"image: { digest: latest }":                           "digest",
		"publicURL: grove.example":                            "publicURL",
		"persistence: { accessModes: [ReadWriteMany] }":       "accessModes",
		"metrics: { enabled: false, serviceMonitor: { enabled: true } }":      "metrics.serviceMonitor.enabled: needs metrics.enabled",
		"database: postgres\npostgres: { dsnSecret: { name: pg, key: uri } }": "apiKeySecret.name: with postgres",
		onPostgres + "encryptionSecret: { name: '', key: a }":                 "encryptionSecret",
		onPostgres + "autoscaling: { enabled: true, minReplicas: 7 }":         "autoscaling.minReplicas: must not be more",
	} {
		if strings.Count(values, "encryptionSecret:") == 2 {
			values = strings.Replace(values, "encryptionSecret: { name: keys, key: encryption }\n", "", 1)
		}
		if _, err := render(values); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", values, err, want)
		}
	}
}

// TestChartNotes checks that the command that is printed after an installation can be run as it is: the command line refuses a key of a
// scope that reads without an end.
func TestChartNotes(t *testing.T) {
	t.Parallel()
	for values, address := range map[string]string{"": "http://127.0.0.1:7420", "tls: { secretName: cert }": "https://127.0.0.1:7420"} {
		m, err := render(values)
		if err != nil {
			t.Fatal(err)
		}
		const command = "exec deploy/grove-spangrove -- /usr/bin/spangrove keys create --name me --scope admin --expires 90d\n"
		if !strings.Contains(m.notes, command) || !strings.Contains(m.notes, address) {
			t.Errorf("%q: the notes are\n%s", values, m.notes)
		}
	}
	m, err := render("apiKeySecret: { name: keys, key: admin }")
	if err != nil || strings.Contains(m.notes, "keys create") {
		t.Errorf("with a key of one's own: %v\n%s", err, m.notes)
	}
}

func TestChartLint(t *testing.T) {
	t.Parallel()
	result := lint.AllWithKubeVersion(chartDir, nil, "observability", &kubernetes)
	for _, m := range result.Messages {
		if m.Severity >= support.WarningSev {
			t.Error(m)
		}
	}
}
