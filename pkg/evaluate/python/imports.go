package python

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/spangrove/spangrove/pkg/evaluate"
	"github.com/spangrove/spangrove/pkg/metric"
)

// Warnings returns which modules the code of a metric imports that cannot be had or do not work here,
// a sentence for each, and what to do instead. It does not run the code, and does not see what
// is imported in other ways than by import statements.
func (e *Engine) Warnings(d *metric.Definition) []string {
	var list []string
	for _, name := range imports(d.Criteria) {
		if why := unavailable(name); why != "" && !slices.Contains(list, why) {
			list = append(list, why)
		}
	}
	return list
}

// preload names the modules of the standard library that code imports.
func preload(code string) []string {
	list := []string{}
	for _, name := range imports(code) {
		if top, _, _ := strings.Cut(name, "."); standard[top] {
			list = append(list, name)
		}
	}
	return list
}

// The ways out of what is not there.
const (
	ownProcess = "score in your own process instead, where everything can be imported, and send the score as the event's metric"
	plain      = "use the standard library (math, statistics, re, difflib, json …), or " + ownProcess
)

// unavailable returns why a module cannot be used here and what to do instead, empty if it can.
func unavailable(module string) string {
	for name := module; name != ""; name = name[:max(strings.LastIndexByte(name, '.'), 0)] {
		if why, ok := unusable[name]; ok {
			return fmt.Sprintf("%s does not work in evaluators: %s", name, why)
		}
	}
	top, _, _ := strings.Cut(module, ".")
	if top == "" || standard[top] {
		return ""
	}
	top = evaluate.Clip(top, 100)
	if why, ok := packages[top]; ok {
		return fmt.Sprintf("%s is not installed in evaluators, which have Python's standard library alone: %s", top, why)
	}
	return fmt.Sprintf("%s is not installed in evaluators, which have Python's standard library alone: %s.", top, plain)
}

// maxImports bounds how many modules of an evaluator are looked at.
const maxImports = 200

// imports lists the modules that code names in import statements, dotted, each once. It does not parse Python: it looks for
// statements by pattern in code whose comments and strings are taken out.
func imports(code string) []string {
	var list []string
	add := func(name string) {
		if name = strings.TrimSpace(name); name != "" && !strings.HasPrefix(name, ".") && len(list) < maxImports &&
			!slices.Contains(list, name) {
			list = append(list, name)
		}
	}
	for _, m := range importStatement.FindAllStringSubmatch(withoutText(code), -1) {
		if from := m[2]; from != "" {
			add(from)
			for name := range strings.SplitSeq(m[3], ",") {
				if words := strings.Fields(name); len(words) > 0 && unusable[from+"."+words[0]] != "" {
					add(from + "." + words[0])
				}
			}
			continue
		}
		for name := range strings.SplitSeq(m[1], ",") {
			if words := strings.Fields(name); len(words) > 0 {
				add(words[0])
			}
		}
	}
	return list
}

var (
	importStatement = regexp.MustCompile(`(?m)(?:^|[;:])[ \t]*(?:import[ \t]+([\w., \t]+)|` +
		`from[ \t]+([\w.]+)[ \t]+import\b[ \t(]*([\w, \t]*))`)
	// text is a comment, a string or a line that goes on in the next one.
	text = regexp.MustCompile(`(?s)#[^\n]*|"""(?:\\.|[^\\])*?(?:"""|$)|` +
		`'''(?:\\.|[^\\])*?(?:'''|$)|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|\\\r?\n`)
)

// withoutText returns code without its comments and strings.
func withoutText(code string) string { return text.ReplaceAllString(code, " ") }

// set returns words as a set.
func set(names string) map[string]bool {
	s := map[string]bool{}
	for _, name := range strings.Fields(names) {
		s[name] = true
	}
	return s
}

// standard are the modules that can be imported in the interpreter.
var standard = set(`
__future__ _abc _ast _asyncio _bisect _blake2 _bz2 _codecs _codecs_cn _codecs_hk _codecs_iso2022 _codecs_jp _codecs_kr
_codecs_tw _collections _collections_abc _compat_pickle _compression _contextvars _crypt _csv _datetime _decimal
_elementtree _frozen_importlib _frozen_importlib_external _functools _heapq _imp _io _json _locale _lsprof _markupbase
_md5 _multibytecodec _opcode _operator _pickle _py_abc _pydatetime _pylong _queue _random _sha1 _sha2 _sha3 _signal
_sitebuiltins _socket _sqlite3 _sre _stat _statistics _string _strptime _struct _symtable _thread _threading_local
_tokenize _tracemalloc _typing _warnings _weakref _weakrefset _zoneinfo abc aifc argparse array ast asyncio atexit
audioop base64 bdb binascii bisect builtins bz2 cProfile calendar cgi cgitb chunk cmath cmd code codecs codeop
collections colorsys compileall concurrent configparser contextlib contextvars copy copyreg crypt csv dataclasses
datetime dbm decimal difflib dis doctest email encodings enum errno faulthandler filecmp fileinput fnmatch fractions
ftplib functools gc genericpath getopt getpass gettext glob graphlib gzip hashlib heapq hmac html http imaplib imghdr
importlib inspect io ipaddress itertools json keyword linecache locale logging mailbox mailcap marshal math mimetypes
modulefinder netrc nntplib ntpath nturl2path numbers opcode operator optparse os pathlib pdb pickle pickletools pipes
pkgutil platform plistlib poplib posix posixpath pprint profile pstats py_compile pyclbr pydoc pyexpat queue quopri
random re reprlib runpy sched secrets select selectors shelve shlex shutil signal site smtplib sndhdr socket
socketserver sqlite3 sre_compile sre_constants sre_parse stat statistics string stringprep struct subprocess sunau
symtable sys sysconfig tabnanny tarfile telnetlib tempfile textwrap threading time timeit token tokenize tomllib trace
traceback tracemalloc types typing unicodedata unittest urllib uuid warnings wave weakref wsgiref xml xmlrpc zipapp
zipfile zipimport zlib zoneinfo`)

// The reasons for which modules do not work.
const (
	noNetwork = "evaluators have no network. Put what they need into the event, or " + ownProcess + "."
	noSystem  = "evaluators have nothing of the machine: no processes, no terminal, no libraries of the system; " + ownProcess + "."
	noThreads = "evaluators have one thread and no event loop. Work in sequence, or " + ownProcess + "."
	noModel   = "evaluators have no network. For a score by a model make a metric of type LLM."
)

// unusable are the modules of the standard library that are not there, or whose work needs what is
// not there.
var unusable = reasons(map[string]string{
	noNetwork: "socket _socket ssl socketserver ftplib imaplib nntplib poplib smtplib telnetlib http.client http.server urllib.request " +
		"xmlrpc.client xmlrpc.server webbrowser",
	noSystem:  "subprocess ctypes curses fcntl grp mmap pty pwd readline resource syslog termios tkinter tty turtle ensurepip venv idlelib",
	noThreads: "asyncio concurrent.futures multiprocessing",
	"this build of Python has no such compression; use zlib, gzip or bz2.": "lzma",
})

// packages are packages of others whose users are best told of another way out.
var packages = reasons(map[string]string{
	noModel: "openai anthropic google cohere mistralai groq litellm langchain langchain_openai langchain_core llama_index " +
		"transformers torch tensorflow sentence_transformers ragas deepeval",
	noNetwork: "requests httpx aiohttp urllib3 boto3 botocore websockets psycopg2 redis pymongo",
})

// reasons turns lists of modules by their reason into the reason by module.
func reasons(by map[string]string) map[string]string {
	m := map[string]string{}
	for why, names := range by {
		for _, name := range strings.Fields(names) {
			m[name] = why
		}
	}
	return m
}
