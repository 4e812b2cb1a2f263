// Reads zips from standard input, each behind its length in four bytes, as clients of modules do.
// Prints a line for each: its files, by the paths at which clients put them, as JSON, or the error.
package main

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path"
	"strings"
)

func main() {
	for {
		var size uint32
		if binary.Read(os.Stdin, binary.LittleEndian, &size) != nil {
			return
		}
		data := make([]byte, size)
		if _, err := io.ReadFull(os.Stdin, data); err != nil {
			panic(err)
		}
		files, err := list(data)
		if err != nil {
			fmt.Println("error:", err)
			continue
		}
		line, _ := json.Marshal(files)
		fmt.Println(string(line))
	}
}

func list(data []byte) ([][]any, error) {
	files := [][]any{}
	archive, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, err
	}
	for _, file := range archive.File {
		// A client joins the name to its folder, which cleans it: "./main.tf" is main.tf, and "./" the folder itself.
		name := path.Clean(file.Name)
		if name == "." {
			continue
		}
		if strings.HasSuffix(file.Name, "/") {
			name += "/"
		}
		reader, err := file.Open()
		if err != nil {
			return nil, err
		}
		digest := sha256.New()
		size, err := io.Copy(digest, reader)
		if err != nil {
			return nil, err
		}
		files = append(files, []any{name, size, fmt.Sprintf("%x", digest.Sum(nil))})
	}
	return files, nil
}
