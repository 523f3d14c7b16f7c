// The checkpoint of ipamd, read by ipamd's own code.
//
// The arguments are the file and the addresses of the node's interface. It prints what was recovered, which addresses new
// pods get, and whether the pods of the file can be deleted.
package main

import (
	"encoding/json"
	"fmt"
	"net"
	"os"

	"github.com/aws/amazon-vpc-cni-k8s/pkg/ipamd/datastore"
	"github.com/aws/amazon-vpc-cni-k8s/pkg/utils/logger"
)

type answer struct {
	Recovered map[string]string `json:"recovered"`
	New       []string          `json:"new"`
	Deleted   []string          `json:"deleted"`
}

func main() {
	answer, err := read(os.Args[1], os.Args[2:])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if err := json.NewEncoder(os.Stdout).Encode(answer); err != nil {
		os.Exit(1)
	}
}

func read(file string, addresses []string) (*answer, error) {
	log := logger.New(&logger.Configuration{LogLevel: "WARN", LogLocation: "stderr"})
	store := datastore.NewDataStore(log, datastore.NewJSONFile(file), false, 0)
	if err := store.AddENI("eni-1", 1, false, false, false, 2, "subnet-1"); err != nil {
		return nil, err
	}
	for _, address := range addresses {
		one := net.IPNet{IP: net.ParseIP(address), Mask: net.CIDRMask(32, 32)}
		if err := store.AddIPv4CidrToStore("eni-1", one, false); err != nil {
			return nil, err
		}
	}
	if err := store.ReadBackingStore(false); err != nil {
		return nil, err
	}
	found := &answer{Recovered: map[string]string{}, New: []string{}, Deleted: []string{}}
	held := store.AllocatedIPs()
	for _, pod := range held {
		found.Recovered[pod.IP] = pod.IPAMKey.ContainerID
	}
	for number := range addresses {
		pod := datastore.IPAMKey{NetworkName: "aws-cni", ContainerID: fmt.Sprint("new-", number), IfName: "eth0"}
		address, _, _, err := store.AssignPodIPv4Address(pod, datastore.IPAMMetadata{})
		if err != nil {
			break
		}
		found.New = append(found.New, address)
	}
	for _, pod := range held {
		if _, address, _, _, _, err := store.UnassignPodIPAddress(pod.IPAMKey); err == nil {
			found.Deleted = append(found.Deleted, address)
		}
	}
	return found, nil
}
