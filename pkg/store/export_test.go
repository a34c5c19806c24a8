package store

// Forget drops what the store keeps in memory of the trees of sessions, as a restart does.
func (s *Store) Forget() {
	s.skeletons.mu.Lock()
	defer s.skeletons.mu.Unlock()
	s.skeletons.lru.Purge()
}
