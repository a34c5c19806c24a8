package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// Page chooses a part of a list: the page, from 1, of so many items each. Zero values are the
// server's defaults: the first page, and as many items as a page may have.
type Page struct {
	Limit int
	Page  int
}

func (p Page) query(q url.Values) url.Values {
	setInt(q, "limit", int64(p.Limit))
	setInt(q, "page", int64(p.Page))
	return q
}

// List is a page of a list.
type List[T any] struct {
	Items []T
	Total int // items on all pages; -1 if something on the way took that from the answer
}

func total(h http.Header) int {
	n, err := strconv.Atoi(h.Get("X-Total-Count"))
	if err != nil {
		return -1
	}
	return n
}

// all walks over the pages of a list from start on. It ends after the last page, or after the
// first error, which comes with a zero item.
//
// Where items are deleted meanwhile, by the caller or by others, those behind them move to the pages before. The list is shorter then, and
// the walk looks as far back as they can have moved, and goes on. id tells which items have come already; where nothing is ever deleted it is nil.
func all[T any](start Page, id func(*T) string, read func(Page) (*List[T], error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		p := Page{Limit: start.Limit, Page: max(1, start.Page)}
		first, before := p.Page, -1 // before: items on all pages, as the last page told that the walk came to
		came := map[string]bool{}
		for ; ; p.Page++ {
			list, err := read(p)
			items := []T(nil)
			if err == nil {
				items = list.Items
				if gone := before - list.Total; id != nil && list.Total >= 0 && gone > 0 {
					items, err = moved(p, first, gone, list, read)
				}
			}
			if err != nil {
				var zero T
				yield(zero, err)
				return
			}
			before = list.Total
			if p.Limit == 0 {
				p.Limit = len(list.Items) // what the server's default is, if there is a next page
			}
			for i := range items {
				if id != nil {
					key := id(&items[i])
					if came[key] {
						continue
					}
					came[key] = true
				}
				if !yield(items[i], nil) {
					return
				}
			}
			seen := (p.Page-1)*p.Limit + len(list.Items)
			if len(list.Items) == 0 || list.Total >= 0 && seen >= list.Total {
				return
			}
		}
	}
}

// moved returns the items of a page behind those of as many pages before it as can have items that were on it when so many items
// more were there. The nearest page is read first: what moves meanwhile moves to a page that is read after it.
func moved[T any](p Page, first, gone int, list *List[T], read func(Page) (*List[T], error)) ([]T, error) {
	pages := [][]T{list.Items}
	for at := p.Page - 1; at >= first; at-- {
		before, err := read(Page{Limit: p.Limit, Page: at})
		if err != nil {
			return nil, err
		}
		pages = append(pages, before.Items)
		if (p.Page-at)*p.Limit >= gone+max(0, list.Total-before.Total) {
			break
		}
	}
	slices.Reverse(pages)
	return slices.Concat(pages...), nil
}

// follow walks over the pages that cursors lead through, from the one of start on. read returns what is on the page of a cursor, and the next
// one, empty after the last page. The walk ends after the first error, which comes with a zero item.
func follow[T any](start string, read func(cursor string) (items []T, next string, err error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for cursor := start; ; {
			items, next, err := read(cursor)
			if err != nil {
				var zero T
				yield(zero, err)
				return
			}
			for _, item := range items {
				if !yield(item, nil) {
					return
				}
			}
			if cursor = next; cursor == "" {
				return
			}
		}
	}
}

// path joins the parts of a path below /v1, of which every second is an id, and escapes the ids.
// It is empty if an id is invalid: a path with one of these would be that of another operation.
func path(parts ...string) string {
	var b strings.Builder
	b.WriteString("/v1")
	for i, part := range parts {
		b.WriteByte('/')
		if i%2 == 1 {
			if part == "" || part == "." || part == ".." {
				return ""
			}
			part = url.PathEscape(part)
		}
		b.WriteString(part)
	}
	return b.String()
}

func set(q url.Values, name, value string) {
	if value != "" {
		q.Set(name, value)
	}
}

func setInt(q url.Values, name string, n int64) {
	if n != 0 {
		q.Set(name, strconv.FormatInt(n, 10))
	}
}

func setBool(q url.Values, name string, on bool) {
	if on {
		q.Set(name, "true")
	}
}

// setJSON sets a parameter to the JSON of a value, which is one of ours and can be written.
func setJSON(q url.Values, name string, v any) {
	if text, err := encode(v); err == nil {
		q.Set(name, string(text))
	}
}

// setList sets a parameter that may stand several times.
func setList(q url.Values, name string, list []string) {
	for _, text := range list {
		q.Add(name+"[]", text)
	}
}

func setRange(q url.Values, r DateRange) {
	switch v := r.wire().(type) {
	case nil:
	case string:
		q.Set("dateRange", v)
	default:
		setJSON(q, "dateRange", v)
	}
}

func setFilters(q url.Values, name string, filters []Filter) {
	if len(filters) > 0 {
		setJSON(q, name, filters)
	}
}

// one sends a request whose answer is one thing.
func one[T any](ctx context.Context, c *Client, r Request) (*T, error) {
	var answer T
	if err := c.Call(ctx, r, &answer); err != nil {
		return nil, err
	}
	return &answer, nil
}
