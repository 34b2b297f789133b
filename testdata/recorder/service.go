package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand"
	"strings"
	"sync"
	"time"
)

// A product is sold alone or is a bundle of other products, which may be bundles themselves.
type product struct {
	sku    string
	cents  int
	photo  []byte
	bundle []*product
}

type orderLine struct {
	SKU   string
	Count int
}

type order struct {
	ID       int
	Customer string
	Region   string
	Lines    []*orderLine
	total    int
}

type session struct {
	customer string
	basket   []string
	history  [64]int
}

type parcel struct {
	order *order
	label []byte
}

type service struct {
	catalogue []*product
	bySKU     map[string]*product
	sessions  *cache[string, *session]
	invoices  *cache[int, []byte]
	stock     stock
	ledger    ledger
	parcels   chan *parcel
}

// stock and ledger are the two locks that everything waits for.
type stock struct {
	mu       sync.Mutex
	reserved map[string]int
}

type ledger struct {
	mu      sync.RWMutex
	entries []string
	balance int
}

func newService(catalogue []*product) *service {
	bySKU := make(map[string]*product, len(catalogue))
	for _, p := range catalogue {
		bySKU[p.sku] = p
	}
	return &service{
		catalogue: catalogue,
		bySKU:     bySKU,
		sessions:  newCache[string, *session](),
		invoices:  newCache[int, []byte](),
		stock:     stock{reserved: make(map[string]int)},
		parcels:   make(chan *parcel),
	}
}

// serveRegion takes orders, one every few milliseconds, until the service stops.
func (s *service) serveRegion(ctx context.Context, region string) {
	random := rand.New(rand.NewSource(int64(len(region))))
	for id := 1; ctx.Err() == nil; id++ {
		s.handleRequest(ctx, s.requestBody(random, region, id))
		time.Sleep(2 * time.Millisecond)
	}
}

func (s *service) handleRequest(ctx context.Context, body []byte) {
	o, err := parseOrder(body)
	if err != nil {
		return
	}
	s.openSession(o)
	for _, line := range o.Lines {
		s.stock.reserve(line)
		o.total += line.Count * s.priceBundle(s.bySKU[line.SKU], 0)
	}
	invoice := s.renderInvoice(o)
	if o.ID%8 == 0 {
		s.invoices.put(o.ID, invoice)
	}
	s.ledger.post(o)
	s.shipOrder(ctx, o)
}

func parseOrder(body []byte) (*order, error) {
	o := new(order)
	if err := json.Unmarshal(body, o); err != nil {
		return nil, err
	}
	o.Lines = append(o.Lines, giftLine(o))
	return o, nil
}

// giftLine is small enough to be inlined into parseOrder.
func giftLine(o *order) *orderLine {
	return &orderLine{SKU: o.Lines[0].SKU, Count: 1}
}

func (s *service) openSession(o *order) {
	key := fmt.Sprintf("%s/%s/%d", o.Region, o.Customer, o.ID/4)
	visit, ok := s.sessions.get(key)
	if !ok {
		visit = &session{customer: o.Customer}
		s.sessions.put(key, visit)
	}
	visit.rememberBasket(o)
}

func (v *session) rememberBasket(o *order) {
	others := filter(v.basket, func(sku string) bool { return sku != o.Lines[0].SKU })
	v.basket = append(others[:min(len(others), 7)], o.Lines[0].SKU)
}

// priceBundle goes down the bundle; every level keeps a quote of its own.
func (s *service) priceBundle(p *product, depth int) int {
	quote := make([]int, 16, 16+depth)
	for i, part := range p.bundle {
		quote[i%len(quote)] += s.priceBundle(part, depth+1)
	}
	total := p.cents
	for _, cents := range quote {
		total += cents
	}
	return total
}

func (s *service) renderInvoice(o *order) []byte {
	page := make([]byte, 0, 1024)
	page = append(page, renderHeader(o)...)
	for _, line := range o.Lines {
		page = append(page, s.renderLine(line)...)
	}
	return page
}

func renderHeader(o *order) string {
	return strings.Repeat("=", 72) + "\nInvoice " + o.Customer + "\n"
}

func (s *service) renderLine(line *orderLine) []byte {
	var out bytes.Buffer
	fmt.Fprintf(&out, "%4d x %-20s %8d\n", line.Count, line.SKU, s.bySKU[line.SKU].cents)
	return out.Bytes()
}

// reserve holds the lock while the warehouse thinks about it.
func (st *stock) reserve(line *orderLine) {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.reserved[line.SKU] += line.Count
	think(80 * time.Microsecond)
}

func (l *ledger) post(o *order) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.entries = append(l.entries, o.Customer)
	l.balance += o.total
	think(40 * time.Microsecond)
}

func (l *ledger) readBalance() int {
	l.mu.RLock()
	defer l.mu.RUnlock()
	think(200 * time.Microsecond)
	return l.balance
}

func (s *service) shipOrder(ctx context.Context, o *order) {
	p := &parcel{order: o, label: make([]byte, 512)}
	select {
	case s.parcels <- p:
	case <-ctx.Done():
	}
}

func (s *service) packParcels(ctx context.Context) {
	for {
		select {
		case p := <-s.parcels:
			p.stampLabel()
		case <-ctx.Done():
			return
		}
	}
}

func (p *parcel) stampLabel() {
	copy(p.label, p.order.Customer)
	think(100 * time.Microsecond)
}

// think keeps a processor busy, which a sleep would not.
func think(long time.Duration) {
	for until := time.Now().Add(long); time.Now().Before(until); {
	}
}
