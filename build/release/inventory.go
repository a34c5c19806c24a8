package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"
	"github.com/google/uuid"
)

// writeInventory writes the software bill of materials of a platform's binary.
func (p *packer) writeInventory(b build) error {
	sum, err := hashFile(b.binary)
	if err != nil {
		return err
	}
	name := fmt.Sprintf("spangrove-%s-%s-%s.cdx.json", p.source.version.npm(), b.platform.os, b.platform.arch)
	return p.out.write(name, func(w io.Writer) error {
		return cdx.NewBOMEncoder(w, cdx.BOMFileFormatJSON).SetPretty(true).SetEscapeHTML(false).EncodeVersion(inventory(p.source, b, sum), cdx.SpecVersion1_6)
	})
}

// inventory lists what is in a binary with the hash sum.
func inventory(src *source, b build, sum string) *cdx.BOM {
	own := "pkg:golang/github.com/spangrove/spangrove@v" + src.version.npm()
	bom := cdx.NewBOM()
	bom.SerialNumber = uuid.NewSHA1(uuid.NameSpaceURL, []byte(own+"#"+sum)).URN()
	bom.Metadata = &cdx.Metadata{
		Timestamp: src.time.Format(time.RFC3339),
		Component: &cdx.Component{
			BOMRef: own, Type: cdx.ComponentTypeApplication, Name: "spangrove", Version: src.version.String(), PackageURL: own,
			Hashes:             &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: sum}},
			Licenses:           &cdx.Licenses{{License: &cdx.License{ID: "Apache-2.0"}}},
			ExternalReferences: &[]cdx.ExternalReference{{Type: cdx.ERTypeVCS, URL: repositoryURL}},
			Properties:         &[]cdx.Property{{Name: "commit", Value: src.commit}, {Name: "platform", Value: b.platform.String()}},
		},
	}
	var components []cdx.Component
	dependencies := []cdx.Dependency{{Ref: own, Dependencies: &b.direct}}
	for _, m := range b.modules {
		c := cdx.Component{
			BOMRef: m.purl, Type: cdx.ComponentTypeLibrary, Name: m.name, Version: m.version, PackageURL: m.purl, Scope: cdx.ScopeRequired,
			ExternalReferences: &[]cdx.ExternalReference{{Type: cdx.ERTypeDistribution, URL: m.url}},
		}
		var licences cdx.Licenses
		for _, l := range m.licences {
			licences = append(licences, cdx.LicenseChoice{License: &cdx.License{ID: l}})
		}
		c.Licenses = &licences
		if m.h1 != "" {
			c.Properties = &[]cdx.Property{{Name: "go.sum", Value: m.h1}}
		}
		components = append(components, c)
		dependencies = append(dependencies, cdx.Dependency{Ref: m.purl, Dependencies: &m.needs})
	}
	bom.Components, bom.Dependencies = &components, &dependencies
	return bom
}

// hashFile returns the SHA-256 of a file, in hex.
func hashFile(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}
