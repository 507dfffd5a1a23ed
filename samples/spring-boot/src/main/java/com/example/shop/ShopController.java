package com.example.shop;

import com.example.shop.SalesReport.Report;
import com.example.shop.Stock.Item;
import dev.holdfast.LockTimeoutException;
import java.util.List;
import org.springframework.http.HttpStatus;
import org.springframework.http.ResponseEntity;
import org.springframework.web.bind.annotation.ExceptionHandler;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RestController;

/** The shop's pages. */
@RestController
class ShopController {

    private final Stock stock;
    private final SalesReport report;

    ShopController(Stock stock, SalesReport report) {
        this.stock = stock;
        this.report = report;
    }

    @GetMapping("/items/{id}")
    ResponseEntity<Item> item(@PathVariable("id") long id) {
        return ResponseEntity.of(stock.find(id));
    }

    /** 201 if one was sold, and 409 if none was left. */
    @PostMapping("/items/{id}/sales")
    ResponseEntity<Void> sell(@PathVariable("id") long id) {
        return ResponseEntity.status(stock.sell(id) ? HttpStatus.CREATED : HttpStatus.CONFLICT)
                .build();
    }

    @GetMapping("/reports")
    List<Report> reports() {
        return report.all();
    }

    /** Too many buyers at once: nothing was sold to this one. */
    @ExceptionHandler(LockTimeoutException.class)
    ResponseEntity<Void> busy() {
        return ResponseEntity.status(HttpStatus.SERVICE_UNAVAILABLE).build();
    }
}
