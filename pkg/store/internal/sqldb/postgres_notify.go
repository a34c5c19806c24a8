package sqldb

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// channel is the name under which the servers of one schema send each other notifications: channels belong to a database,
// which may have several schemas with stores of their own.
const channel = `'spangrove_' || md5(current_schema())`

const (
	// listenCheck is how long a connection that listens may be silent before it is asked whether it still stands, and
	// listenAnswer how long the answer may take. A connection that a firewall has dropped says nothing.
	listenCheck  = 30 * time.Second
	listenAnswer = 5 * time.Second
	// listenConnect is how long it may take to listen.
	listenConnect = 20 * time.Second
)

// Notify sends texts of at most 8,000 bytes each to all servers that listen, this one among them. It is a transaction of its own
// that writes no row, so it waits for no disk.
func (d *Postgres) Notify(ctx context.Context, payloads []string) error {
	_, err := d.quickReads.Exec(ctx, `SELECT pg_notify(`+channel+`, text) FROM unnest($1::text[]) AS text`, payloads)
	d.renew(ctx, err)
	return err
}

// Listen calls heard with each text that a server sends, in order, until ctx ends or the connection is lost. It calls ready once
// nothing that is sent from then on is missed. It has a connection of its own.
func (d *Postgres) Listen(ctx context.Context, ready func(), heard func(payload string)) error {
	conn, err := d.listen(ctx)
	if err != nil {
		return err
	}
	defer func() {
		after, cancel := context.WithTimeout(context.WithoutCancel(ctx), listenAnswer)
		defer cancel()
		_ = conn.Close(after)
	}()
	ready()
	for {
		within, cancel := context.WithTimeout(ctx, listenCheck)
		n, err := conn.WaitForNotification(within)
		cancel()
		switch {
		case err == nil:
			heard(n.Payload)
			continue
		case ctx.Err() != nil:
			return ctx.Err()
		case !errors.Is(err, context.DeadlineExceeded):
			return err
		}
		within, cancel = context.WithTimeout(ctx, listenAnswer)
		err = conn.Ping(within)
		cancel()
		if err != nil {
			return err
		}
	}
}

// listen opens a connection that listens.
func (d *Postgres) listen(ctx context.Context) (*pgx.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, listenConnect)
	defer cancel()
	conn, err := pgx.ConnectConfig(ctx, d.conf.Copy())
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	var name string
	err = d.ownSession(ctx, conn) // a pooler may have become another one since the start
	if err == nil {
		err = conn.QueryRow(ctx, `SELECT `+channel).Scan(&name)
	}
	// Last, so that the server shows it as what the connection does.
	if err == nil {
		_, err = conn.Exec(ctx, `LISTEN `+pgx.Identifier{name}.Sanitize())
	}
	if err != nil {
		_ = conn.Close(ctx)
		return nil, fmt.Errorf("listen: %w", err)
	}
	return conn, nil
}
