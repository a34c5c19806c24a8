package cli

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"hash/maphash"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/spangrove/spangrove/pkg/client"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// command returns a verb whose work is f.
func command(use, short, example string, f func(ctx context.Context, args []string) error) *cobra.Command {
	_, names, _ := strings.Cut(use, " ")
	return &cobra.Command{
		Use:     use,
		Short:   short,
		Example: indent(example),
		Args:    arguments(strings.Fields(names)...),
		RunE:    func(cmd *cobra.Command, args []string) error { return f(cmd.Context(), args) },
	}
}

// indent puts each line of the examples two columns in, as the help has them.
func indent(examples string) string {
	var b strings.Builder
	for line := range strings.Lines(strings.TrimSpace(examples)) {
		b.WriteString("  " + strings.TrimLeft(line, "\t"))
	}
	return b.String()
}

// arguments checks that there is one argument for each name, none or one for a name in brackets, any number from one on for a
// name that ends in "...", and any number for [NAME...].
func arguments(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		for i, name := range names {
			if i == len(args) && name[0] == '[' {
				break
			}
			if i >= len(args) || args[i] == "" {
				return usage("%s is missing: %s", strings.TrimSuffix(name, "..."), cmd.UseLine())
			}
			if strings.HasSuffix(strings.TrimSuffix(name, "]"), "...") {
				if at := slices.Index(args, ""); at >= 0 {
					return usage("argument %d is empty: %s", at+1, cmd.UseLine())
				}
				return nil
			}
		}
		if len(args) > len(names) {
			return usage("%q is one argument too many: %s", args[len(names)], cmd.UseLine())
		}
		return nil
	}
}

// path joins a path of the API below /v1; ids are escaped by it. It is empty if an id is one that leads to another operation.
func path(parts ...string) string {
	var b strings.Builder
	b.WriteString("/v1")
	for _, part := range parts {
		if part == "." || part == ".." {
			return ""
		}
		b.WriteString("/" + url.PathEscape(part))
	}
	return b.String()
}

// get, post, put and del are requests. What makes a new thing of its own at each call is not
// repeated where it may have been done already.
func get(path string) client.Request {
	return client.Request{Method: http.MethodGet, Path: path, Repeatable: true}
}

func post(path string, body json.RawMessage) client.Request {
	return client.Request{Method: http.MethodPost, Path: path, Body: body}
}

func put(path string, body json.RawMessage) client.Request {
	return client.Request{Method: http.MethodPut, Path: path, Body: body, Repeatable: true}
}

func del(path string) client.Request {
	return client.Request{Method: http.MethodDelete, Path: path}
}

// call returns the answer as the server sent it.
func (a *app) call(ctx context.Context, r client.Request) (json.RawMessage, error) {
	answer, _, err := a.callHeader(ctx, r)
	return answer, err
}

// errNoID is the error of a path that is empty, see path.
var errNoID = usage("an id must be one, not . or ..")

// callHeader is call, and also returns the answer's header.
func (a *app) callHeader(ctx context.Context, r client.Request) (answer json.RawMessage, header http.Header, err error) {
	if r.Path == "" {
		return nil, nil, errNoID
	}
	header, err = a.api.CallHeader(ctx, r, &answer)
	return answer, header, err
}

// listing defines how a list is requested and shown.
type listing struct {
	plural  string // for people
	example string
	request client.Request // limit and page are added to its query
	filters []queryFlag
	fixed   url.Values // what else goes into the query
	at      string     // where in the answer the items are; "" if the answer is the list
	total   string     // where it says how many there are in all; "" if its header does
	id      string     // member with the id of an item, of lists with the newest first
	most    int        // items that a request may ask for; 0: 1000
	whole   bool       // the answer always has all items, and the request takes no limit
	limit   int        // items that are shown without --limit; 0: all
	columns []column
}

// queryFlag is a flag that goes into the query as it is.
type queryFlag struct{ flag, param, usage string }

// most is how many items nearly all lists give at once.
const most = 1000

// lister returns the verb that lists things. What l says when it runs counts.
func (a *app) lister(l *listing) *cobra.Command {
	var p paging
	texts := make([]string, len(l.filters))
	cmd := command("list", "List "+l.plural, l.example, func(ctx context.Context, _ []string) error {
		query := url.Values{}
		for i, f := range l.filters {
			if texts[i] != "" {
				query.Set(f.param, texts[i])
			}
		}
		maps.Copy(query, l.fixed)
		l.request.Query = query
		return a.list(ctx, *l, p)
	})
	for i, f := range l.filters {
		cmd.Flags().StringVar(&texts[i], f.flag, "", f.usage)
	}
	p.flags(cmd, *l)
	return cmd
}

// idLister returns a verb that lists what belongs to one thing; at gives the request of its id.
func (a *app) idLister(use, short string, l listing, request func(id string) client.Request) *cobra.Command {
	var p paging
	cmd := command(use, short, l.example, func(ctx context.Context, args []string) error {
		l.request = request(args[0])
		return a.list(ctx, l, p)
	})
	p.flags(cmd, l)
	return cmd
}

// paging chooses a part of a list.
type paging struct{ limit, page int }

func (p *paging) flags(cmd *cobra.Command, l listing) {
	cmd.Flags().IntVar(&p.limit, "limit", l.limit, "how many to show; 0: all")
	cmd.Flags().IntVar(&p.page, "page", 1, "which page, of --limit each")
}

// list asks for things, page by page, and shows them as they come.
func (a *app) list(ctx context.Context, l listing, p paging) error {
	size := l.most
	if size == 0 {
		size = most
	}
	switch {
	case p.limit < 0:
		return usage("--limit must not be negative")
	case p.page < 1:
		return usage("--page must be 1 or more")
	case p.page > 1 && (p.limit == 0 || p.limit > size):
		return usage("--page needs a --limit of 1 to %d", size)
	case p.limit > 0 && p.limit < size:
		size = p.limit
	}
	out := a.items(l.columns)
	total := 0
	again := l.id != "" // what comes meanwhile moves items of such a list to the next page
	shown, seed := map[uint64]bool{}, maphash.MakeSeed()
	for page := p.page; ; page++ {
		items, all, err := a.page(ctx, l, size, page)
		last := len(items) < size
		if gone := total - all; err == nil && page > p.page && all > 0 && gone > 0 {
			again = true
			items, err = a.moved(ctx, l, size, p.page, page, gone, all, items)
		}
		if err != nil && out.n > 0 {
			if a.format == formatTable { // a list in another format stays open, so that nobody takes it for whole
				_ = out.end() // the error that matters is the first one
			}
			return after(err, "showed %d %s", out.n, l.plural)
		}
		if err != nil {
			return err
		}
		total = all
		for _, item := range items {
			if p.limit > 0 && out.n == p.limit {
				break
			}
			key := maphash.String(seed, cmp.Or(textOf(item, cmp.Or(l.id, "id")), string(item)))
			if again && shown[key] {
				continue
			}
			shown[key] = true
			if err := out.add(item); err != nil {
				return err
			}
		}
		if last || p.limit > 0 && out.n >= p.limit {
			break
		}
	}
	if err := out.end(); err != nil {
		return err
	}
	switch first := (p.page - 1) * p.limit; {
	case out.n == 0 && a.format == formatTable:
		a.remark("no %s", l.plural)
	case p.limit > 0 && first+out.n < total:
		a.remark("%d to %d of %d %s; --limit 0 shows all", first+1, first+out.n, total, l.plural)
	}
	return nil
}

// moved returns the items of a page behind those of as many pages before it as can have items that were on it when so many more were there, since
// some were deleted; all is how many there were when it was read. The nearest page is read first: what moves meanwhile moves to one that is read
// after it.
func (a *app) moved(ctx context.Context, l listing, size, first, page, gone, all int, items []json.RawMessage) ([]json.RawMessage, error) {
	pages := [][]json.RawMessage{items}
	for at := page - 1; at >= first; at-- {
		before, now, err := a.page(ctx, l, size, at)
		if err != nil {
			return nil, err
		}
		pages = append(pages, before)
		if (page-at)*size >= gone+max(0, all-now) {
			break
		}
	}
	slices.Reverse(pages)
	return slices.Concat(pages...), nil
}

// page asks for one page. all is how many items all pages have, 0 if the answer does not tell.
func (a *app) page(ctx context.Context, l listing, size, number int) (items []json.RawMessage, all int, err error) {
	if l.whole && number > 1 {
		return nil, 0, nil
	}
	r := l.request
	if body, ok := r.Body.(json.RawMessage); ok {
		var paged rawjson.Builder
		paged.Int("limit", int64(size))
		paged.Int("page", int64(number))
		r.Body = rawjson.Merge(body, paged.Bytes())
	} else if !l.whole {
		query := url.Values{}
		for name, values := range r.Query {
			query[name] = values
		}
		query.Set("limit", strconv.Itoa(size))
		query.Set("page", strconv.Itoa(number))
		r.Query = query
	}
	answer, header, err := a.callHeader(ctx, r)
	if err != nil {
		return nil, 0, err
	}
	list := answer
	if l.at != "" {
		list = rawjson.Get(answer, l.at)
	}
	if rawjson.KindOf(list) != '[' {
		return nil, 0, fmt.Errorf("the answer of %s has no list of %s; is its version another one?", a.api.Server(), l.plural)
	}
	for _, item := range rawjson.Array(list) {
		items = append(items, item)
	}
	if l.total != "" {
		n, _ := rawjson.Number(rawjson.Path(answer, strings.Split(l.total, ".")...))
		return items, int(n), nil
	}
	all, _ = strconv.Atoi(header.Get("X-Total-Count"))
	return items, all, nil
}

// getter returns the verb that shows one thing: what stands in the answer under at.
func (a *app) getter(thing, example string, request func(id string) client.Request, at ...string) *cobra.Command {
	return command("get ID", "Show "+thing, example, func(ctx context.Context, args []string) error {
		answer, err := a.call(ctx, request(args[0]))
		if err != nil {
			return err
		}
		return a.one(rawjson.Path(answer, at...))
	})
}

// versioned adds the flag --version to a getter.
func versioned(cmd *cobra.Command, version *int) *cobra.Command {
	cmd.Flags().IntVar(version, "version", 0, "an old version; 0: the current one")
	return cmd
}

// creator returns the verb that makes a thing of a body; its id stands in the answer under at.
func (a *app) creator(thing, example, path string, fields []bodyField, at ...string) *cobra.Command {
	var b *requestBody
	cmd := command("create", "Create "+thing, example, func(ctx context.Context, _ []string) error {
		text, err := b.build()
		if err != nil {
			return err
		}
		answer, err := a.call(ctx, post(path, text))
		if err != nil {
			return err
		}
		id, _ := rawjson.Text(rawjson.Path(answer, at...))
		return a.made(answer, id)
	})
	b = bodyOf(cmd, fields...)
	return cmd
}

// updater returns the verb that changes a thing.
func (a *app) updater(thing, example string, request func(id string, body json.RawMessage) client.Request, fields []bodyField) *cobra.Command {
	var b *requestBody
	cmd := command("update ID", "Change "+thing, example, func(ctx context.Context, args []string) error {
		text, err := b.build()
		if err != nil {
			return err
		}
		answer, err := a.call(ctx, request(args[0], text))
		if err != nil {
			return err
		}
		return a.changed(answer, "updated %s", clean(args[0]))
	})
	b = bodyOf(cmd, fields...)
	return cmd
}

// deleter returns the verb that deletes things for good. What says what goes with them.
func (a *app) deleter(use, what, example string, request func(id string) client.Request) *cobra.Command {
	var yes bool
	verb, _, _ := strings.Cut(use, " ")
	past := strings.TrimSuffix(verb, "e") + "ed"
	cmd := command(use, strings.ToUpper(verb[:1])+verb[1:]+" "+what, example, nil)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if !yes {
			if err := confirm(cmd, fmt.Sprintf("%s %s: %s?", verb, what, strings.Join(args, ", "))); err != nil {
				return err
			}
		}
		for i, id := range args {
			answer, err := a.call(cmd.Context(), request(id))
			if err != nil && len(args) > 1 {
				return after(err, "%s %d of %d, not %s", past, i, len(args), strings.Join(args[i:], ", "))
			}
			if err != nil {
				return err
			}
			if err := a.changed(answer, "%s %s", past, clean(id)); err != nil {
				return err
			}
		}
		return nil
	}
	yesFlag(cmd, &yes)
	return cmd
}

// purger returns a deleter that can delete what was made of the things, too.
func (a *app) purger(use, what, example string, request func(id string) client.Request) *cobra.Command {
	purge := false
	cmd := a.deleter(use, what, example, func(id string) client.Request {
		r := request(id)
		if purge {
			r.Query = url.Values{"purge": {"true"}}
		}
		return r
	})
	cmd.Flags().BoolVar(&purge, "purge", false, "delete the datapoints that were made of them, too")
	return cmd
}

func yesFlag(cmd *cobra.Command, yes *bool) {
	cmd.Flags().BoolVarP(yes, "yes", "y", false, "do not ask; needed where nobody can be asked")
}

// confirm asks on the terminal, and fails if there is none.
func confirm(cmd *cobra.Command, question string) error {
	if _, ok := terminal(cmd.InOrStdin()); !ok {
		return usage("%s needs --yes where nobody can be asked", cmd.CommandPath())
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "%s [y/N] ", clean(question))
	answer := make(chan string, 1)
	go func() { // reading cannot be interrupted; the process ends with it
		line, _ := bufio.NewReader(cmd.InOrStdin()).ReadString('\n')
		answer <- strings.ToLower(strings.TrimSpace(line))
	}()
	select {
	case <-cmd.Context().Done():
		fmt.Fprintln(cmd.ErrOrStderr())
		return &Failure{"interrupted; nothing was done", exitInterrupted}
	case line := <-answer:
		if line != "y" && line != "yes" {
			return &Failure{"nothing was done", ExitFailed}
		}
		return nil
	}
}
