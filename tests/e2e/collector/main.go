// Collector is the OTLP receiver of the OpenTelemetry Collector on a loopback port, with a consumer that
// keeps what arrives and that can be told to fail. It is told by lines on stdin, and answers each with
// one line of JSON on stdout. The first line that it prints has the receiver's address.
//
//	grpc                       the address at which it takes the same by gRPC
//	fail STATUS N              the next N requests are answered with 503 or 429
//	received                   what arrived since the last such line: ids, times, status of the answer
//	save FILE                  writes the last request that was accepted, as pdata encodes it
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/consumer/xconsumer"
	"go.opentelemetry.io/collector/pdata/pprofile"
	"go.opentelemetry.io/collector/pdata/pprofile/pprofileotlp"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/otlpreceiver"
	"go.opentelemetry.io/collector/receiver/xreceiver"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"
)

// A request, as it arrived.
type arrival struct {
	Status   int               `json:"status"`
	Resource map[string]string `json:"resource"`
	Scope    string            `json:"scope"`
	IDs      map[string]string `json:"ids"` // by type
	Time     int64             `json:"time"`
	Duration int64             `json:"duration"`
	Samples  int               `json:"samples"`
}

type consumed struct {
	mutex    sync.Mutex
	failing  int // with this status, and so often
	times    int
	arrivals []arrival
	grpc     string // address
	last     pprofile.Profiles
	has      bool
}

func (c *consumed) Capabilities() consumer.Capabilities { return consumer.Capabilities{} }

// refusal is an error that the receiver answers with this status.
func refusal(code int) error {
	if code != 429 {
		return fmt.Errorf("the consumer is busy")
	}
	refused, err := status.New(codes.ResourceExhausted, "too many").WithDetails(
		&errdetails.RetryInfo{RetryDelay: durationpb.New(time.Second)})
	if err != nil {
		return err
	}
	return refused.Err()
}

func describe(profiles pprofile.Profiles) arrival {
	got := arrival{Status: 200, Resource: map[string]string{}, IDs: map[string]string{}, Samples: profiles.SampleCount()}
	for _, resource := range profiles.ResourceProfiles().All() {
		for key, value := range resource.Resource().Attributes().All() {
			got.Resource[key] = value.AsString()
		}
		for _, scope := range resource.ScopeProfiles().All() {
			got.Scope = scope.Scope().Name() + " " + scope.Scope().Version()
			for _, profile := range scope.Profiles().All() {
				kind := profiles.Dictionary().StringTable().At(int(profile.SampleType().TypeStrindex()))
				got.IDs[kind] = profile.ProfileID().String()
				got.Time, got.Duration = int64(profile.Time()), int64(profile.DurationNano())
			}
		}
	}
	return got
}

func (c *consumed) ConsumeProfiles(_ context.Context, profiles pprofile.Profiles) error {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	got := describe(profiles)
	if c.times > 0 {
		c.times--
		got.Status = c.failing
		c.arrivals = append(c.arrivals, got)
		return refusal(c.failing)
	}
	c.arrivals = append(c.arrivals, got)
	c.last = pprofile.NewProfiles()
	profiles.CopyTo(c.last)
	c.has = true
	return nil
}

// free are two addresses that nothing listens at.
func free() (addresses [2]string, err error) {
	for i := range addresses {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return addresses, err
		}
		defer listener.Close()
		addresses[i] = listener.Addr().String()
	}
	return addresses, nil
}

// begin starts the receiver. Its ports were free a moment ago; others are tried if they were taken since.
func begin(sink xconsumer.Profiles) (addresses [2]string, _ component.Component, failed error) {
	for tries := 0; tries < 20; tries++ {
		addresses, err := free()
		if err != nil {
			return addresses, nil, err
		}
		factory := otlpreceiver.NewFactory()
		config := factory.CreateDefaultConfig().(*otlpreceiver.Config)
		config.Protocols.HTTP.GetOrInsertDefault().ServerConfig.NetAddr.Endpoint = addresses[0]
		config.Protocols.GRPC.GetOrInsertDefault().NetAddr.Endpoint = addresses[1]
		settings := receiver.Settings{
			ID:                component.NewID(factory.Type()),
			TelemetrySettings: componenttest.NewNopTelemetrySettings(),
		}
		server, err := factory.(xreceiver.Factory).CreateProfiles(context.Background(), settings, config, sink)
		if err != nil {
			return addresses, nil, err
		}
		if failed = server.Start(context.Background(), componenttest.NewNopHost()); failed == nil {
			return addresses, server, nil
		}
	}
	return addresses, nil, failed
}

func (c *consumed) obey(words []string) (any, error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	switch {
	case words[0] == "grpc":
		return c.grpc, nil
	case words[0] == "fail" && len(words) == 3:
		code, err := strconv.Atoi(words[1])
		if err != nil {
			return nil, err
		}
		times, err := strconv.Atoi(words[2])
		c.failing, c.times = code, times
		return "fails", err
	case words[0] == "received":
		arrivals := append([]arrival{}, c.arrivals...)
		c.arrivals = nil
		return arrivals, nil
	case words[0] == "save" && len(words) == 2:
		if !c.has {
			return nil, fmt.Errorf("nothing was accepted yet")
		}
		request, err := pprofileotlp.NewExportRequestFromProfiles(c.last).MarshalProto()
		if err != nil {
			return nil, err
		}
		return "saved", os.WriteFile(words[1], request, 0o600)
	}
	return nil, fmt.Errorf("unknown: %q", words)
}

func main() {
	sink := &consumed{}
	addresses, server, err := begin(sink)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	sink.grpc = addresses[1]
	fmt.Println(addresses[0])
	out := json.NewEncoder(os.Stdout)
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		said, err := sink.obey(strings.Fields(in.Text()))
		answer := map[string]any{"said": said}
		if err != nil {
			answer["error"] = err.Error()
		}
		if err := out.Encode(answer); err != nil {
			break
		}
	}
	if err := server.Shutdown(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
