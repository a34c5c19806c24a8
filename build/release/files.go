package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"io"
	"io/fs"
	"os"
	"path"
	"time"
)

// file is one file of an archive: text, or what is at a path.
type file struct {
	name string // with slashes
	text []byte
	path string      // empty: text
	mode fs.FileMode // 0o644 or 0o755; a directory with fs.ModeDir
	uid  int         // owner and group
}

func (f file) open() (io.ReadCloser, int64, error) {
	if f.path == "" {
		return io.NopCloser(bytes.NewReader(f.text)), int64(len(f.text)), nil
	}
	r, err := os.Open(f.path)
	if err != nil {
		return nil, 0, err
	}
	info, err := r.Stat()
	if err != nil {
		r.Close()
		return nil, 0, err
	}
	return r, info.Size(), nil
}

// below returns the files in a folder.
func below(folder string, files []file) []file {
	all := make([]file, len(files))
	for i, f := range files {
		f.name = path.Join(folder, f.name)
		all[i] = f
	}
	return all
}

// writeTar writes files in their order. All else is fixed: owner, time, format.
func writeTar(w io.Writer, at time.Time, files []file) error {
	tw := tar.NewWriter(w)
	for _, f := range files {
		h := &tar.Header{Typeflag: tar.TypeReg, Name: f.name, Mode: int64(f.mode.Perm()), Uid: f.uid, Gid: f.uid, ModTime: at, Format: tar.FormatUSTAR}
		if f.mode&fs.ModeSticky != 0 {
			h.Mode |= 0o1000
		}
		if f.mode.IsDir() {
			h.Typeflag, h.Name = tar.TypeDir, f.name+"/"
			if err := tw.WriteHeader(h); err != nil {
				return err
			}
			continue
		}
		r, size, err := f.open()
		if err != nil {
			return err
		}
		h.Size = size
		if err = tw.WriteHeader(h); err == nil {
			_, err = io.Copy(tw, r)
		}
		r.Close()
		if err != nil {
			return err
		}
	}
	return tw.Close()
}

// writeTarGz writes a compressed tar; its header has neither name nor time.
func writeTarGz(w io.Writer, at time.Time, files []file) error {
	z, err := gzip.NewWriterLevel(w, gzip.BestCompression)
	if err != nil {
		return err
	}
	if err := writeTar(z, at, files); err != nil {
		return err
	}
	return z.Close()
}

// writeZip writes a zip, with permissions as Unix has them.
func writeZip(w io.Writer, at time.Time, files []file) error {
	if earliest := time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC); at.Before(earliest) {
		at = earliest // the format knows no earlier time
	}
	zw := zip.NewWriter(w)
	zw.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) { return flate.NewWriter(w, flate.BestCompression) })
	for _, f := range files {
		h := &zip.FileHeader{Name: f.name, Method: zip.Deflate, Modified: at}
		h.SetMode(f.mode)
		entry, err := zw.CreateHeader(h)
		if err != nil {
			return err
		}
		r, _, err := f.open()
		if err != nil {
			return err
		}
		_, err = io.Copy(entry, r)
		r.Close()
		if err != nil {
			return err
		}
	}
	return zw.Close()
}
