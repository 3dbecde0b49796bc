-- Checkouts that lie inside others, whatever their projects are, are found by where they are.
CREATE INDEX checkout_place ON checkout (host, path, project);
