package main

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math/rand"
	"sort"
	"strings"
	"time"
)

// loadCatalogue is the start-up cost: the photos it decodes on the way are gone at once, the
// products stay. Every tenth product is a bundle of the ones before it.
func loadCatalogue(count int) []*product {
	var catalogue []*product
	for i := 0; i < count; i++ {
		p := &product{sku: fmt.Sprintf("SKU-%05d", i), cents: 100 + i%900, photo: decodePhoto(i)}
		if i%10 == 9 {
			p.bundle = append(p.bundle, catalogue[i-3:]...)
			p.bundle = append(p.bundle, catalogue[i/10])
		}
		catalogue = append(catalogue, p)
	}
	return catalogue
}

func decodePhoto(seed int) []byte {
	pixels := make([]byte, 16<<10+seed)
	for i := range pixels {
		pixels[i] = byte(i * seed)
	}
	return shrinkPhoto(pixels)
}

func shrinkPhoto(pixels []byte) []byte {
	thumbnail := make([]byte, len(pixels)/16)
	for i := range thumbnail {
		thumbnail[i] = pixels[16*i]
	}
	return thumbnail
}

// warmUp sends a few orders through, and forgets a great index that it built for them.
func warmUp(s *service) {
	index := make(map[string][]string)
	for _, p := range s.catalogue {
		for end := 1; end <= len(p.sku); end++ {
			index[p.sku[:end]] = append(index[p.sku[:end]], p.sku)
		}
	}
}

// requestBody is what a customer of this region sends.
func (s *service) requestBody(random *rand.Rand, region string, id int) []byte {
	o := order{ID: id, Region: region, Customer: fmt.Sprintf("customer-%03d", random.Intn(500))}
	for n := 1 + random.Intn(4); n > 0; n-- {
		p := s.catalogue[random.Intn(len(s.catalogue))]
		o.Lines = append(o.Lines, &orderLine{SKU: p.sku, Count: 1 + random.Intn(3)})
	}
	body, err := json.Marshal(o)
	if err != nil {
		panic(err)
	}
	return body
}

// refundOrders stops before the first look: what it counted must not be in the delta.
func (s *service) refundOrders(ctx context.Context) {
	for every(ctx, 5*time.Millisecond) {
		s.refundOrder(&order{Customer: "returning", total: -100})
	}
}

func (s *service) refundOrder(o *order) {
	s.ledger.post(o)
	s.invoices.put(-1, make([]byte, 2048))
}

// importBatches begins after the first look: another way to the functions that serveRegion takes.
func (s *service) importBatches(ctx context.Context) {
	for every(ctx, 20*time.Millisecond) {
		s.importBatch(ctx, strings.Repeat("7,wholesale,SKU-00001,40\n", 60))
	}
}

func (s *service) importBatch(ctx context.Context, text string) {
	rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil {
		panic(err)
	}
	for i, row := range rows {
		o := &order{ID: i, Customer: row[1], Lines: []*orderLine{{SKU: row[2], Count: 40}}}
		s.renderInvoice(o)
		s.openSession(o)
		s.ledger.post(o)
	}
}

// buildReports begins after the first look too, and keeps the reports.
func (s *service) buildReports(ctx context.Context) {
	var archive []string
	for every(ctx, 100*time.Millisecond) {
		archive = append(archive, s.buildReport())
	}
}

func (s *service) buildReport() string {
	visits := s.sessions.values()
	sort.Slice(visits, func(i, k int) bool { return visits[i].customer < visits[k].customer })
	byCustomer := groupBy(visits, func(v *session) string { return v.customer })
	var page strings.Builder
	for customer, drawer := range byCustomer {
		fmt.Fprintf(&page, "%s %d\n", customer, len(drawer))
	}
	fmt.Fprintf(&page, "balance %d\n", s.ledger.readBalance())
	return page.String()
}

// every waits for the next turn; it says no when the work is over.
func every(ctx context.Context, pause time.Duration) bool {
	select {
	case <-time.After(pause):
		return true
	case <-ctx.Done():
		return false
	}
}
